import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GENERATED, generate, resolveScript, scriptFiles } from "@/lib/redis/build-scripts";

const FOLDER = join(import.meta.dirname, "../redis/scripts");

describe("Redis scripts", () => {
  it("stand in the generated module as they stand in the folder", () => {
    expect(readFileSync(GENERATED, "utf8")).toBe(generate());
  });

  it.each(scriptFiles())("%s opens with a contract and says its number of keys in its name", (file) => {
    const source = readFileSync(join(FOLDER, file), "utf8");
    expect(source.startsWith("--[[")).toBe(true);
    const header = source.slice(0, source.indexOf("]]"));
    expect(header).toMatch(/KEYS\[1\]/u);
    expect(header).toMatch(/ARGV\[1\]/u);
    expect(header).toMatch(/Returns/u);
    const arity = /-(\d+|n)\.lua$/u.exec(file)?.[1];
    expect(arity).toBeDefined();
    if (arity === "n") return;
    const used = [...resolveScript(file).matchAll(/KEYS\[(\d+)\]/gu)].map((match) => Number(match[1]));
    expect(Math.max(...used)).toBe(Number(arity));
  });

  it.each(scriptFiles())("%s keeps amounts out of Lua's number formatting", (file) => {
    // tostring and .. on numbers above 14 digits give exponents; amounts are texts from ARGV or amountText.
    expect(resolveScript(file)).not.toMatch(/tostring\(/u);
    expect(resolveScript(file)).not.toMatch(/INCRBYFLOAT(?!", key, "b")/u);
  });
});
