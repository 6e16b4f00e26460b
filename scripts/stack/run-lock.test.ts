import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeRunLock } from "./run-lock";

let folder = "";
const held = () => existsSync(join(folder, "run.json"));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the lock of a data folder", () => {
  it("is taken over from a run that was killed, and from a process id that is something else by now", () => {
    for (const pid of [2 ** 22 - 3, process.ppid]) {
      writeFileSync(join(folder, "run.json"), JSON.stringify({ pid, url: "http://127.0.0.1:3000" }));
      takeRunLock(folder, "http://127.0.0.1:3001")();
      expect(held()).toBe(false);
    }
  });

  it("is taken over when its file is damaged", () => {
    writeFileSync(join(folder, "run.json"), "");
    const release = takeRunLock(folder, "http://127.0.0.1:3000");
    expect(held()).toBe(true);
    release();
    expect(held()).toBe(false);
  });
});
