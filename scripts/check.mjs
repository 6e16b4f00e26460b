// npm run check: format, lint, import rules, unused code, types. Two tools at a time, each printed whole when it ends,
// so that one run shows everything there is to mend.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ensureInstalled, projectRoot as root } from "./node-modules.mjs";

await ensureInstalled();
const bin = (name) => join(root, "node_modules", ".bin", name);
const cache = (name) => join("node_modules", ".cache", name);
const sources = ["app", "bench", "components", "e2e", "lib", "prisma", "scripts", "workers"].filter((folder) =>
  existsSync(join(root, folder)),
);

const tools = [
  ["types", "tsc", ["--noEmit", "--pretty", "false"]],
  ["lint", "eslint", ["--cache", "--cache-strategy", "content", "--cache-location", cache("eslint/"), "."]],
  ["imports", "depcruise", ["--config", ".dependency-cruiser.cjs", "--output-type", "err-long", ...sources]],
  ["unused", "knip", ["--cache", "--cache-location", cache("knip"), "--no-progress", "--no-config-hints"]],
  [
    "format",
    "prettier",
    [
      "--check",
      "--log-level",
      "warn",
      "--cache",
      "--cache-strategy",
      "content",
      "--cache-location",
      cache("prettier/.prettier-cache"),
      ".",
    ],
  ],
];

function prepare() {
  // Both are generated and not committed, yet the types and the linter need them.
  if (existsSync(join(root, "prisma/schema.prisma")) && !existsSync(join(root, "lib/db/generated/client.ts"))) {
    spawnSync(process.execPath, [join(root, "scripts/prisma.mjs"), "generate"], { cwd: root, stdio: "ignore" });
  }
  if (existsSync(join(root, "app")) && !existsSync(join(root, "next-env.d.ts"))) {
    spawnSync(bin("next"), ["typegen"], {
      cwd: root,
      stdio: "ignore",
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
    });
  }
}

function run([name, command, args]) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(bin(command), args, {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => (output += error.message));
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const failed = code !== 0;
      console.log(`${failed ? "FAIL" : "ok  "} ${name} (${command}, ${seconds} s)`);
      if (failed) console.log(`${output.trim()}\n`);
      resolve(failed ? name : undefined);
    });
  });
}

async function main() {
  prepare();
  const wanted = process.argv.slice(2);
  const queue = tools.filter(([name]) => wanted.length === 0 || wanted.includes(name));
  const failures = [];
  const lane = async () => {
    for (let tool = queue.shift(); tool !== undefined; tool = queue.shift()) {
      const failed = await run(tool);
      if (failed !== undefined) failures.push(failed);
    }
  };
  await Promise.all([lane(), lane()]);
  if (failures.length > 0) console.log(`check failed: ${failures.join(", ")}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

await main();
