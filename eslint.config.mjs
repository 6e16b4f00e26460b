// What a reader should never meet: hidden types, hidden time, hidden environment, files and functions that tire.
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const tests = ["**/*.test.{ts,tsx}", "**/*.contract.ts", "**/testing/**", "e2e/**", "bench/**"];

/** Next and a few tools find these files by their default export. */
const defaultExportFiles = [
  "app/**/{page,layout,template,loading,error,global-error,not-found,default,manifest,robots,sitemap,icon,opengraph-image}.{ts,tsx}",
  "proxy.ts",
  "lib/testing/global-setup.ts",
  "scripts/test/e2e-setup.ts",
  "lib/console/i18n.ts",
  "*.config.{ts,mjs,mts}",
  "*.cjs",
];

const noDefaultExport = {
  selector: "ExportDefaultDeclaration",
  message: "Use a named export: a thing should have one name everywhere.",
};
const envMessage = "Read the environment in lib/config/env.ts only, where it is checked once at start.";
const clockMessage = "Take time from the Clock that is passed in: rules must be testable at any moment.";
const chanceMessage = "Take ids and chance from the Ids that are passed in: rules must give the same answer twice.";

export default tseslint.config(
  {
    ignores: [
      "node_modules/**",
      ".next/**",
      "dist/**",
      ".spillway/**",
      "coverage/**",
      "playwright-report/**",
      "test-results/**",
      "next-env.d.ts",
      "lib/db/generated/**",
      "**/*.generated.ts",
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "separate-type-imports" }],
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // An async function without await is how a port with a promise in its type is filled by something immediate.
      "@typescript-eslint/require-await": "off",
    },
  },
  {
    rules: {
      "no-restricted-syntax": ["error", noDefaultExport],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true, IIFEs: false }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "error",
      "no-param-reassign": "error",
      "no-restricted-properties": ["error", { object: "process", property: "env", message: envMessage }],
    },
  },
  { files: defaultExportFiles, rules: { "no-restricted-syntax": "off" } },
  {
    files: ["**/*.tsx"],
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "max-lines-per-function": ["error", { max: 120, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["lib/domain/**/*.ts", "lib/gateway/**/*.ts"],
    ignores: ["lib/**/clock.ts", "lib/**/ids.ts", ...tests],
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "process", property: "env", message: envMessage },
        { object: "Date", property: "now", message: clockMessage },
        { object: "Math", property: "random", message: chanceMessage },
        { object: "crypto", property: "randomUUID", message: chanceMessage },
      ],
      "no-restricted-syntax": [
        "error",
        noDefaultExport,
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clockMessage },
      ],
    },
  },
  {
    files: tests,
    rules: {
      "max-lines-per-function": "off",
      "@typescript-eslint/unbound-method": "off",
      // Bodies read back over HTTP are `any`; a test asserts on them at once.
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  {
    // Playwright calls the function that hands a fixture over `use`; it is no React hook.
    files: ["e2e/**"],
    rules: { "no-empty-pattern": "off" },
  },
  {
    // Programs talk to the person who started them, and pass the environment on to the processes they start.
    files: [
      "scripts/**",
      "bench/**",
      "e2e/**",
      "lib/config/env.ts",
      "lib/services/**",
      "lib/testing/**",
      "prisma/*.ts",
      "*.config.{ts,mjs}",
    ],
    rules: { "no-restricted-properties": "off" },
  },
  { files: ["scripts/**", "bench/**", "prisma/*.ts", "workers/*.ts", "*.config.ts"], rules: { "no-console": "off" } },
  {
    files: ["**/*.{mjs,cjs}"],
    languageOptions: {
      globals: {
        process: "readonly",
        console: "readonly",
        module: "writable",
        require: "readonly",
        performance: "readonly",
        setTimeout: "readonly",
      },
    },
  },
);
