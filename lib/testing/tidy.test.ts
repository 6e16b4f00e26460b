// Hygiene as a test: what a linter cannot see, or would only warn about. Each rule says what to do instead.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const self = "lib/testing/tidy.test.ts";

const isCode = (file: string) => /\.(ts|tsx|mjs|cjs|lua|sql|css|prisma)$/.test(file);
const isTest = (file: string) => /\.(test|spec|contract)\.tsx?$/.test(file);
const isText = (file: string) =>
  isCode(file) || /\.(md|json|ya?ml|sh|html|svg|toml)$/.test(file) || !file.includes(".");

/** Everything that is or may soon be committed. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter(
    (file) => file !== "" && file !== self && existsSync(join(root, file)) && statSync(join(root, file)).isFile(),
  );

const texts = new Map(files.filter(isText).map((file) => [file, readFileSync(join(root, file), "utf8")]));

/** `file:line: text` of every line that matches, in the files asked for. */
function linesMatching(pattern: RegExp, wanted: (file: string) => boolean): string[] {
  const found: string[] = [];
  for (const [file, text] of texts) {
    if (!wanted(file) || !pattern.test(text)) continue;
    text.split("\n").forEach((line, index) => {
      if (pattern.test(line)) found.push(`${file}:${index + 1}: ${line.trim().slice(0, 120)}`);
    });
  }
  return found;
}

describe("the repository", () => {
  it("is looked at whole", () => {
    expect(texts.size).toBeGreaterThan(50);
    expect(texts.has("package.json")).toBe(true);
  });

  it("runs every test: nothing is focused", () => {
    expect(linesMatching(/\b(describe|it|test|suite)(\.\w+)*\.only\b|\bf(it|describe)\(/, isTest)).toEqual([]);
  });

  it("waits in tests for a condition (vi.waitFor, expect.poll), never for a time", () => {
    const sleeps = /new Promise(<\w+>)?\([^;]*setTimeout\(|timers\/promises|\.waitForTimeout\(|\bsleep\(\d/;
    expect(linesMatching(sleeps, isTest)).toEqual([]);
  });

  it("has no open ends without an issue that owns them", () => {
    expect(linesMatching(/\b(TODO|FIXME|XXX|HACK)\b(?!.*#\d+)/, isCode)).toEqual([]);
  });

  it("has no traces of debugging or of a broken merge", () => {
    expect(linesMatching(/^\s*debugger;|^(<{7}|>{7}) |console\.trace\(/, isCode)).toEqual([]);
  });

  it("names no path of somebody's own machine", () => {
    const homes = ["home", "Users", "work", "mnt"].map((folder) => `/${folder}/[a-z]`).join("|");
    expect(linesMatching(new RegExp(`(^|[\\s"'\`(=:])(${homes})`), (file) => !file.startsWith("e2e/"))).toEqual([]);
  });

  it("has no barrels: import from where a thing is", () => {
    expect(files.filter((file) => /(^|\/)index\.tsx?$/.test(file))).toEqual([]);
  });

  it("names files in lower case with hyphens", () => {
    const wellNamed =
      /^[.]?[a-z0-9[\]()_-]+(\.[a-z0-9_-]+)*$|^(README|LICENSE|CHANGELOG)(\.[a-zA-Z-]+)?$|^[a-z]{2}-[A-Z]{2}\.json$/;
    const named = (file: string) => wellNamed.test(basename(file)) || /^\[+\.{0,3}[a-zA-Z]+\]+/.test(basename(file));
    const free = (file: string) => file.startsWith("deploy/") || file.startsWith(".github/");
    expect(files.filter((file) => !named(file) && !free(file))).toEqual([]);
  });

  it("has a lock file that names no registry but npm's own", () => {
    expect(
      linesMatching(/"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/, (file) => file === "package-lock.json"),
    ).toEqual([]);
  });

  it("commits no secrets and no generated folders", () => {
    const forbidden =
      /(^|\/)(\.env|\.env\.local|secrets\.json|first-run\.json)$|^(dist|\.next|\.spillway|node_modules)\//;
    expect(files.filter((file) => forbidden.test(file))).toEqual([]);
  });
});
