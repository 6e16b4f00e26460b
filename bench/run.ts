// npm run bench -- <name> [flags]: brings up what it needs, measures, checks the books, takes everything down.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./harness/session";
import { runBench } from "./harness/session";

const folder = import.meta.dirname;
const names = readdirSync(folder)
  .filter((file) => /^[a-z-]+\.ts$/u.test(file) && file !== "run.ts")
  .map((file) => file.slice(0, -".ts".length));

const [name, ...flags] = process.argv.slice(2);
if (name === undefined || !names.includes(name) || !existsSync(join(folder, `${name}.ts`))) {
  console.error(`Say which: npm run bench -- ${names.join(" | ")}`);
  process.exitCode = 2;
} else {
  const { bench } = (await import(`./${name}.ts`)) as { bench: Bench };
  process.exit(await runBench(name, flags, bench));
}
