/**
 * `npx tsx lib/estimate/worker/build.ts`: bundles `entry.ts` into `source.generated.ts`. A test fails while that file is
 * not what this makes.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const FOLDER = dirname(fileURLToPath(import.meta.url));
export const GENERATED = join(FOLDER, "source.generated.ts");

export async function generate(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: FOLDER,
    entryPoints: ["entry.ts"],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    target: "node20",
    minify: true,
    charset: "ascii",
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  return [
    "// Written by `npx tsx lib/estimate/worker/build.ts` from entry.ts beside it; do not edit.",
    `export const workerSource =\n  ${JSON.stringify(text.trim())};`,
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(GENERATED, await generate());
