import { describe, expect, it } from "vitest";
import { chooseLocale } from "./locale";

describe("chooseLocale", () => {
  it("lets the cookie win", () => {
    expect(chooseLocale("zh-CN", "en-US,en;q=0.9")).toBe("zh-CN");
  });
  it("ignores a cookie that names no language we have", () => {
    expect(chooseLocale("../../etc", "zh-TW,zh;q=0.9,en;q=0.8")).toBe("zh-CN");
  });
  it("follows weights, not order", () => {
    expect(chooseLocale(undefined, "en;q=0.3, zh;q=0.8")).toBe("zh-CN");
    expect(chooseLocale(undefined, "fr, en;q=0.5, zh;q=0.4")).toBe("en");
  });
  it("treats q=0 as a refusal", () => {
    expect(chooseLocale(undefined, "zh;q=0, de")).toBe("en");
  });
  it("falls back to English", () => {
    expect(chooseLocale(undefined, null)).toBe("en");
    expect(chooseLocale(undefined, "*")).toBe("en");
  });
});
