import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { filesOf, sourceHash } from "./source-hash";

let root = "";
const write = (path: string, content: string) => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), content);
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "source hash "));
  write("lib/a.ts", "one");
  write("lib/b.ts", "two");
});
afterEach(() => rmSync(root, { recursive: true }));

describe("the hash of the sources", () => {
  it("changes with content and with names", () => {
    const before = sourceHash(root, ["lib"]);
    write("lib/a.ts", "ONE");
    const changed = sourceHash(root, ["lib"]);
    expect(changed).not.toBe(before);
    write("lib/c.ts", "");
    expect(sourceHash(root, ["lib"])).not.toBe(changed);
  });

  it("does not change with dates, or with the order in which sources are named", () => {
    write("app/page.tsx", "page");
    const before = sourceHash(root, ["lib", "app"]);
    utimesSync(join(root, "lib/a.ts"), new Date(0), new Date(0));
    expect(sourceHash(root, ["app", "lib"])).toBe(before);
  });

  it("tells bytes moved from one file to the next", () => {
    const before = sourceHash(root, ["lib"]);
    write("lib/a.ts", "onet");
    write("lib/b.ts", "wo");
    expect(sourceHash(root, ["lib"])).not.toBe(before);
  });

  it("leaves out what no build contains", () => {
    const before = sourceHash(root, ["lib"]);
    write("lib/a.test.ts", "test");
    write("lib/testing/fake.ts", "fake");
    write("lib/services/redis.ts", "server");
    write("lib/README.md", "words");
    expect(filesOf(root, ["lib"])).toEqual(["lib/a.ts", "lib/b.ts"]);
    expect(sourceHash(root, ["lib"])).toBe(before);
  });
});
