import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadSecrets } from "./secrets";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "secrets "));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the secrets of an installation", () => {
  it("are made at random once, and kept for their owner alone", () => {
    const secrets = loadSecrets(folder, {});
    expect(loadSecrets(folder, {})).toEqual(secrets);
    expect(new Set(Object.values(secrets)).size).toBe(3);
    expect(Buffer.from(secrets.SPILLWAY_MASTER_KEY, "base64")).toHaveLength(32);
    expect(statSync(join(folder, "secrets.json")).mode & 0o777).toBe(0o600);
  });

  it("give way to the environment, which is never written down", () => {
    const given = Buffer.alloc(32, 1).toString("base64");
    expect(loadSecrets(folder, { SPILLWAY_MASTER_KEY: given }).SPILLWAY_MASTER_KEY).toBe(given);
    expect(readFileSync(join(folder, "secrets.json"), "utf8")).not.toContain(given);
  });

  it("are never replaced when their file is damaged: what they encrypt would be lost", () => {
    writeFileSync(join(folder, "secrets.json"), "{");
    expect(() => loadSecrets(folder, {})).toThrow(/damaged/);
    expect(readFileSync(join(folder, "secrets.json"), "utf8")).toBe("{");
  });
});
