// npm test. Plain Node, because it may have to install everything else first.
import process from "node:process";
import { ensureInstalled, projectRoot } from "./node-modules.mjs";

process.chdir(projectRoot);
await ensureInstalled();

const { register } = await import("tsx/esm/api");
const unregister = register();
const { test } = await import("./test/run.ts");
await test(process.argv.slice(2));
await unregister();
