import { describe, expect, it } from "vitest";
import { boundOf, costOf } from "@/lib/pricing/cost";
import { isSuspicious, lintPrice } from "@/lib/pricing/price-lint";
import { pricesOf } from "./build-models";
import { VENDORS } from "./vendors";

const ratesOf = (vendorName: string, model: string) => {
  const vendor = VENDORS.find((one) => one.name === vendorName);
  const row = vendor === undefined ? undefined : pricesOf(vendor, 0).get(model);
  if (row === undefined) throw new Error(`no ${model}`);
  return row.rates;
};
const used = (inputTokens: number, outputTokens: number, more: object = {}) => ({
  ...{ inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ...more,
});
const nanos = (vendor: string, model: string, usage: ReturnType<typeof used>, atMs?: number) =>
  costOf({ usage, rates: ratesOf(vendor, model), ...(atMs === undefined ? {} : { atMs }) }).amount;

describe("the vendors' list prices", () => {
  it("are well-formed, unsuspicious, and name each model once", () => {
    const names = VENDORS.flatMap((vendor) => vendor.models.map((model) => model.name));
    expect(new Set(names).size).toBe(names.length);
    for (const vendor of VENDORS) {
      for (const { rates, model } of pricesOf(vendor, 0).values()) {
        expect([model, isSuspicious(rates), lintPrice(rates).map((one) => one.code)]).toEqual([model, false, []]);
      }
    }
  });

  // Figures of the vendors' own price pages, worked by hand.
  it.each([
    ["Anthropic", "claude-sonnet-4-5", used(1000, 1000), 18_000_000n],
    ["Anthropic", "claude-sonnet-4-5", used(200_001, 0), 1_200_006_000n],
    ["Anthropic", "claude-opus-4-7", used(0, 1000, { region: "us" }), 27_500_000n],
    ["DashScope", "qwen3-max", used(32_000, 1000), 90_000_000n],
    ["DashScope", "qwen3-max", used(32_001, 1000), 144_004_000n],
    ["Ark", "doubao-seed-1-8-251215", used(1000, 1000), 8_800_000n],
    ["Zhipu", "glm-5.3", used(1000, 1000), 36_000_000n],
    ["OpenAI", "gpt-4o-mini", used(1000, 1000), 750_000n],
    ["OpenAI", "whisper-1", used(0, 0, { inputSeconds: 60 }), 6_000_000n],
    ["OpenAI", "tts-1", used(0, 0, { characters: 1000 }), 15_000_000n],
    ["Gemini", "gemini-2.5-pro", used(200_001, 1000), 515_002_500n],
  ])("of %s %s come out right", (vendor, model, usage, expected) => {
    expect(nanos(vendor, model, usage)).toBe(expected);
  });

  it("of DeepSeek double in the peak hours of a weekday, and a hold takes the dear hour", () => {
    const usage = used(1000, 1000);
    const at = (text: string) => nanos("DeepSeek", "deepseek-flash", usage, Date.parse(text));
    expect(at("2026-11-25T02:30:00Z")).toBe(1_500_000n);
    expect(at("2026-11-25T04:00:00Z")).toBe(750_000n);
    expect(at("2026-11-28T02:30:00Z")).toBe(750_000n);
    const rates = ratesOf("DeepSeek", "deepseek-flash");
    expect(boundOf({ rates, inputTokens: 1000, outputTokens: 1000 })).toBe(1_500_000n);
  });
});
