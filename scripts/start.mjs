// npm start. Plain Node, because it may have to install everything else first. `--dev` runs the sources unbuilt.
import process from "node:process";
import { ensureInstalled, projectRoot } from "./node-modules.mjs";

process.chdir(projectRoot);
const started = performance.now();
if (await ensureInstalled()) console.log(`  ok  packages   ${((performance.now() - started) / 1000).toFixed(1)} s`);

const { register } = await import("tsx/esm/api");
register();
const { start } = await import("./start/run.ts");
await start({ dev: process.argv.includes("--dev") });
