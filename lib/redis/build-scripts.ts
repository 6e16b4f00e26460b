/**
 * `npm run lua:build`: resolves the includes of lib/redis/scripts/*.lua and writes scripts.generated.ts (text and SHA-1),
 * so that Next's bundle, the bare host and the workers load the same bytes and none needs file access.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPTS = join(dirname(fileURLToPath(import.meta.url)), "scripts");
export const GENERATED = join(dirname(fileURLToPath(import.meta.url)), "scripts.generated.ts");

/** Script text with `--- @include "file"` lines replaced, once each; block comments, line comments and blank lines go. */
export function resolveScript(file: string): string {
  const seen = new Set<string>();
  const include = (path: string): string =>
    readFileSync(path, "utf8").replace(/^--- @include "(.+)"$/gmu, (_line, name: string) => {
      const target = join(SCRIPTS, name);
      if (seen.has(target)) return "";
      seen.add(target);
      return include(target);
    });
  return include(join(SCRIPTS, file))
    .replace(/--\[\[[\s\S]*?\]\]/gu, "")
    .replace(/^[ \t]*--.*$/gmu, "")
    .replace(/[ \t]+-- .*$/gmu, "")
    .replace(/^\s+/gmu, "");
}

/** Names as `<verb>-<number of keys or n>.lua`. */
export function scriptFiles(): string[] {
  return readdirSync(SCRIPTS)
    .filter((file) => file.endsWith(".lua"))
    .sort();
}

function camel(file: string): string {
  return file.replace(/-(?:\d+|n)\.lua$/u, "").replace(/-([a-z])/gu, (_match, letter: string) => letter.toUpperCase());
}

export function generate(): string {
  const entries = scriptFiles().map((file) => {
    const text = resolveScript(file);
    const sha = createHash("sha1").update(text).digest("hex");
    const arity = /-(\d+|n)\.lua$/u.exec(file)?.[1] ?? "n";
    const keys = arity === "n" ? "null" : arity;
    return `  ${camel(file)}: {\n    keys: ${keys},\n    sha: "${sha}",\n    text: ${JSON.stringify(text)},\n  },`;
  });
  return [
    "// Written by `npm run lua:build` from lib/redis/scripts; do not edit.",
    "export interface RedisScript {",
    "  /** number of KEYS, null where it varies */",
    "  readonly keys: number | null;",
    "  readonly sha: string;",
    "  readonly text: string;",
    "}",
    "",
    "export const redisScripts = {",
    ...entries,
    "} as const satisfies Record<string, RedisScript>;",
    "",
    "export type RedisScriptName = keyof typeof redisScripts;",
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(GENERATED, generate());
