import { describe, expect, it } from "vitest";
import { localPath } from "./sign-in";

describe("localPath", () => {
  it("keeps a path of this site with its query", () => {
    expect(localPath("/requests?model=gpt-4o")).toBe("/requests?model=gpt-4o");
  });
  it("never leaves the site", () => {
    for (const next of [
      "//evil.test",
      "/\\evil.test",
      "https://evil.test",
      "javascript:alert(1)",
      "/a\\b",
      "/a\nb",
      "",
    ]) {
      expect(localPath(next)).toBe("/overview");
    }
  });
  it("does not return to sign-in or to an answer that is no page", () => {
    expect(localPath("/sign-in?next=/x")).toBe("/overview");
    expect(localPath("/api/console/overview")).toBe("/overview");
    expect(localPath(["/a", "/b"])).toBe("/overview");
  });
});
