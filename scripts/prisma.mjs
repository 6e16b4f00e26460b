// Runs the Prisma command line. Generating the client needs no native engine, but Prisma insists on finding one and
// would download it; on a closed network that fails. Naming any executable is enough, so we name Node itself,
// and only where no engine is at hand.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);

function nativeEngineIsPresent() {
  const folder = join(root, "node_modules", "@prisma", "engines");
  return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith("schema-engine"));
}

const env = { ...process.env, CHECKPOINT_DISABLE: "1", PRISMA_HIDE_UPDATE_MESSAGE: "1" };
if (env.PRISMA_SCHEMA_ENGINE_BINARY === undefined && !nativeEngineIsPresent()) {
  env.PRISMA_SCHEMA_ENGINE_BINARY = process.execPath;
}
const cli = join(dirname(require.resolve("prisma/package.json")), "build", "index.js");
const result = spawnSync(process.execPath, [cli, ...process.argv.slice(2)], { cwd: root, env, stdio: "inherit" });
process.exit(result.status ?? 1);
