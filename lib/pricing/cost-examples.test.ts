import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseDecimalToNanos } from "@/lib/domain/money";
import type { UsageHints } from "@/lib/domain/usage-reader";
import { readUsage } from "@/lib/domain/usage-reader";
import { costOf } from "./cost";
import { readPriceMap } from "./price-map";

interface Example {
  readonly id: string;
  readonly title: string;
  readonly model: string;
  readonly price_row: Record<string, unknown>;
  readonly request: { readonly at?: string };
  readonly usage: Record<string, unknown>;
  readonly components: readonly { quantity: string; rate_usd: string; multiplier: string }[];
  readonly cost_usd_exact: string;
}

const { examples } = JSON.parse(readFileSync(join(import.meta.dirname, "fixtures", "cost-examples.json"), "utf8")) as {
  examples: Example[];
};

/** What the gateway knows of these calls besides the answer. */
const HINTS: Readonly<Record<string, UsageHints>> = {
  e09: { asked: { region: "eu" } },
  e10: { asked: { serviceTier: "batch" } },
  e15: { route: "speech", asked: { characters: [..."今天的预算还剩多少？Thanks!"].length } },
  e16: { route: "images" },
  e17: { route: "images", asked: { images: [{ count: 1, size: "1024x1024", quality: "standard" }] } },
  e19: { asked: { webSearches: 1 } },
  e32: { vendor: "perplexity" },
  e35: { route: "videos" },
};

/** The examples keep rows as they are in the map, but give DeepSeek's off-peak hours in words. */
const OFF_PEAK = {
  windows: [
    { hours_utc: ["00:00-01:00", "04:00-06:00", "10:00-00:00"], weekdays: [1, 2, 3, 4, 5] },
    { hours_utc: "00:00-00:00", weekdays: [6, 7] },
  ],
};

function ratesOf(example: Example) {
  const row = { ...example.price_row };
  if (row.off_peak_pricing !== undefined) row.off_peak_pricing = { ...(row.off_peak_pricing as object), ...OFF_PEAK };
  const reading = readPriceMap(JSON.stringify({ [example.model]: row }));
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const [first] = reading.rows;
  if (!first) throw new Error("unpriced");
  expect(first.unread).toEqual([]);
  return first.rates;
}

function bodyOf({ usage }: Example): Record<string, unknown> {
  const { service_tier_in_response: tier, ...rest } = usage;
  const isWhole = "usageMetadata" in usage || "meta" in usage;
  return { ...(isWhole ? rest : { usage: rest }), ...(tier === undefined ? {} : { service_tier: tier }) };
}

describe("a worked example of a vendor's price list", () => {
  it.each(examples.map((example) => [example.id, example.title, example] as const))("%s: %s", (id, _, example) => {
    const reading = readUsage(bodyOf(example), HINTS[id]);
    if (!reading) throw new Error("no usage");
    const atMs = Date.parse(example.request.at ?? "2026-11-11T12:00:00Z");
    const { amount, components } = costOf({ usage: reading.usage, rates: ratesOf(example), atMs });

    expect(reading.flags).toEqual([]);
    expect(amount).toBe(parseDecimalToNanos(example.cost_usd_exact, "halfEven"));
    const parts = components.map((part) => [String(part.quantity), part.rate, part.multiplier ?? "1"]);
    const right = example.components.map((part) => [part.quantity, part.rate_usd, part.multiplier]);
    expect(parts.sort()).toEqual(right.sort());
  });

  it("is one of 36", () => {
    expect(examples).toHaveLength(36);
  });
});
