import { defineConfig } from "vitest/config";

const root = import.meta.dirname;
const shared = {
  root,
  resolve: { alias: [{ find: /^@\//, replacement: `${root}/` }] },
};
const leaveOut = ["node_modules/**", ".next/**", "dist/**", ".spillway/**", "e2e/**"];

export default defineConfig({
  ...shared,
  test: {
    // Two cores: more workers than that only make every test slower and time-outs likelier.
    maxWorkers: 2,
    passWithNoTests: true,
    projects: [
      {
        ...shared,
        test: {
          name: "unit",
          include: ["**/*.test.{ts,tsx}"],
          exclude: [...leaveOut, "**/*.int.test.ts"],
          environment: "node",
        },
      },
      {
        ...shared,
        test: {
          name: "int",
          include: ["**/*.int.test.ts"],
          exclude: leaveOut,
          environment: "node",
          globalSetup: ["./lib/testing/global-setup.ts"],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
