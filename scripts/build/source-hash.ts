// One hash over everything a build is made of, so that a second start does not build again what has not changed.
// By content and not by date: a fresh checkout or a switched branch changes every date.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What ends up in the product. */
export const productSources = [
  "app",
  "components",
  "lib",
  "messages",
  "public",
  "workers",
  "prisma/schema.prisma",
  "prisma/seed.ts",
  "prisma/seed",
  "scripts/build",
  "next.config.ts",
  "instrumentation.ts",
  "postcss.config.mjs",
  "proxy.ts",
  "tsconfig.json",
  "package-lock.json",
];

/** Changes to these change no build. */
const irrelevant = [
  /\.test\.tsx?$/,
  /\.contract\.ts$/,
  /(^|\/)testing\//,
  /(^|\/)generated\//,
  /^lib\/services\//,
  /\.md$/,
];

export function filesOf(root: string, sources: readonly string[]): string[] {
  const files: string[] = [];
  const visit = (path: string): void => {
    const absolute = join(root, path);
    if (!existsSync(absolute)) return;
    if (statSync(absolute).isDirectory()) {
      for (const name of readdirSync(absolute).sort()) visit(`${path}/${name}`);
    } else if (!irrelevant.some((pattern) => pattern.test(path))) {
      files.push(path);
    }
  };
  for (const source of [...sources].sort()) visit(source);
  return files;
}

export function sourceHash(root: string, sources: readonly string[] = productSources): string {
  const hash = createHash("sha256").update(`node ${process.versions.node.split(".")[0]}\n`);
  for (const file of filesOf(root, sources)) {
    const content = readFileSync(join(root, file));
    // Name and length go in too, so that moving bytes from one file to the next changes the hash.
    hash.update(`${file}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}
