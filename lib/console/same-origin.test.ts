import { describe, expect, it } from "vitest";
import { isOwnPage } from "./same-origin";

const OURS = "https://spillway.example.com";
const from = (headers: Record<string, string>): boolean => isOwnPage(new Headers(headers), OURS);

describe("isOwnPage", () => {
  it("takes writes of our own pages", () => {
    expect(from({ "sec-fetch-site": "same-origin", origin: OURS })).toBe(true);
    expect(from({ origin: OURS })).toBe(true);
    expect(from({ origin: "http://127.0.0.1:3000", host: "127.0.0.1:3000" })).toBe(true);
  });
  it("refuses other sites, sister hosts and opaque origins", () => {
    expect(from({ "sec-fetch-site": "cross-site", origin: "https://evil.test" })).toBe(false);
    expect(from({ "sec-fetch-site": "same-site", origin: OURS })).toBe(false);
    expect(from({ origin: "https://evil.test", host: "spillway.example.com" })).toBe(false);
    expect(from({ origin: "null" })).toBe(false);
  });
  it("refuses a write that says nothing about where it comes from", () => {
    expect(from({})).toBe(false);
    expect(from({ "sec-fetch-site": "none" })).toBe(false);
  });
});
