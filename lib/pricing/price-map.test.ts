import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainDecimal } from "./decimal";
import { findPriceKey } from "./price-key";
import { lintPrice } from "./price-lint";
import { diffPriceBooks } from "./price-book-diff";
import type { PriceMapRow } from "./price-map";
import { readPriceMap } from "./price-map";

function rowsOf(json: string): readonly PriceMapRow[] {
  const reading = readPriceMap(json);
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.rows;
}

const rowOf = (members: string, key = "m") => rowsOf(`{"${key}": {"litellm_provider": "openai", ${members}}}`)[0];

describe("a number of the price map", () => {
  it.each([
    ["1.25e-06", "0.00000125"],
    ["0.0", "0"],
    ["3.625E-09", "0.000000003625"],
    ["1.4290000000000000231e-6", "0.0000014290000000000000231"],
    ["100", "100"],
    ["1e2", "100"],
  ])("%s is %s: digits never pass through a double", (text, right) => {
    expect(plainDecimal(text)).toBe(right);
    expect(rowOf(`"mode": "chat", "input_cost_per_token": ${text}`)?.rates.inputPerToken).toBe(right);
  });

  it.each(["-1", "NaN", "Infinity", "1e309", "1e-28", "0x1", "1,5", ""])("%j is refused", (text) => {
    expect(plainDecimal(text)).toBeUndefined();
  });

  it("is what JSON meant", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (number) => {
        expect(Number(plainDecimal(JSON.stringify(number)))).toBe(number);
      }),
    );
  });
});

describe("a row of the price map", () => {
  it("keeps what length, tier and lifetime change apart", () => {
    const row = rowOf(`"mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 15e-06,
      "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
      "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 12e-06,
      "input_cost_per_token_above_200k_tokens": 6e-06, "input_cost_per_token_above_200k_tokens_priority": 7e-06,
      "input_cost_per_token_batches": 1.5e-06, "output_cost_per_token_flex": null,
      "regional_processing_uplift_multiplier_eu": 1.1, "provider_specific_entry": {"us": 1.1, "fast": 6.0}`);
    expect(row?.rates).toEqual({
      inputPerToken: "0.000003",
      outputPerToken: "0.000015",
      cacheWritePerToken: "0.00000375",
      cacheWrite1hPerToken: "0.000006",
      services: { batch: { inputPerToken: "0.0000015" } },
      longContext: {
        steps: [
          {
            aboveTokens: 200_000,
            inputPerToken: "0.000006",
            cacheWrite1hPerToken: "0.000012",
            services: { priority: { inputPerToken: "0.000007" } },
          },
        ],
      },
      regionMultipliers: { eu: "1.1", us: "1.1" },
      speedMultipliers: { fast: "6" },
    });
  });

  it("charges a transcription's one price once, and a picture's in the column of its mode", () => {
    expect(rowOf('"mode": "audio_transcription", "input_cost_per_second": 0.0001, "output_cost_per_second": 0.0001')?.rates).toEqual({ inputPerSecond: "0.0001" }); // prettier-ignore
    expect(rowOf('"mode": "image_generation", "input_cost_per_image": 0.04')?.rates).toEqual({ perImage: "0.04" });
    expect(rowOf('"mode": "chat", "input_cost_per_image": 0.04')?.rates).toEqual({ inputPerImage: "0.04" });
  });

  it("says which of its prices nothing charges by", () => {
    expect(rowOf('"input_cost_per_token": 0, "file_search_cost_per_1k_calls": 2.5')?.unread).toEqual(["file_search_cost_per_1k_calls"]); // prettier-ignore
  });

  it("with off-peak rates needs their hours", () => {
    const block = (hours: string) =>
      `"input_cost_per_token": 2, "off_peak_pricing": {"input_cost_per_token": 1 ${hours}}`;
    expect(readPriceMap(`{"m": {"litellm_provider": "x", ${block("")}}}`).ok).toBe(false);
    expect(readPriceMap(`{"m": {"litellm_provider": "x", ${block(', "hours_utc": "25:00-26:00"')}}}`).ok).toBe(false);
    const hours =
      ', "weekday_timezone": "Asia/Shanghai", "windows": [{"hours_utc": "00:00-00:00", "weekdays": ["sat", "Sunday", 1]}]';
    expect(rowOf(block(hours))?.rates.windows).toEqual([
      {
        hours: [{ from: "00:00", to: "00:00" }],
        weekdays: [6, 7, 1],
        weekdayTimeZone: "Asia/Shanghai",
        rates: { inputPerToken: "1" },
      },
    ]);
  });

  it("takes the pictures that other keys price by size and quality", () => {
    const rows = rowsOf(`{
      "hd/1024-x-1792/dall-e-3": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_pixel": 6.539e-08, "output_cost_per_pixel": 0.0},
      "azure/hd/1024-x-1792/dall-e-3": {"litellm_provider": "azure", "mode": "image_generation", "input_cost_per_pixel": 1e-08},
      "dall-e-3": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_image": 0.04}}`);
    expect(rows.at(-1)?.rates).toEqual({
      perImage: "0.04",
      images: [{ size: "1024x1792", quality: "hd", perPixel: "0.00000006539" }],
    });
  });

  it("without any price is unknown, and a zero is a price", () => {
    const reading = readPriceMap(`{"last_updated": "2026", "sample_spec": {"litellm_provider": "x"},
      "unknown": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": null, "max_input_tokens": 8192.0},
      "free": {"litellm_provider": "ollama", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0.0}}`);
    expect(reading).toMatchObject({
      ok: true,
      unpriced: ["unknown"],
      skipped: ["last_updated", "sample_spec"],
      rows: [{ key: "free", kind: "chat", rates: { inputPerToken: "0", outputPerToken: "0" } }],
    });
  });
});

describe("the key of a model", () => {
  const keys = new Set([
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4o-2024-08-06",
    "azure/gpt-4o",
    "dashscope/qwen3-max",
    "claude-sonnet-4-5",
  ]);
  const find = (model: string, lookup = {}) => findPriceKey(model, (key) => keys.has(key), lookup);

  it.each([
    ["gpt-4o", {}, "gpt-4o"],
    ["gpt-4o-2024-08-06", {}, "gpt-4o-2024-08-06"],
    ["gpt-4o-2024-11-20", {}, "gpt-4o"],
    ["claude-sonnet-4-5-20250929", {}, "claude-sonnet-4-5"],
    ["qwen3-max", { provider: "dashscope" }, "dashscope/qwen3-max"],
    ["qwen3-max", {}, undefined],
    ["openai/gpt-4o-mini", {}, "gpt-4o-mini"],
    ["gpt-4o-audio-preview", {}, undefined],
    ["4o", {}, undefined],
    ["ep-20261101-abcde", { aliases: { "ep-20261101-abcde": "gpt-4o-mini" } }, "gpt-4o-mini"],
    ["constructor", { provider: "constructor", aliases: {} }, undefined],
  ])("%s with %j is %s, never part of a name", (model, lookup, right) => {
    expect(find(model, lookup)).toBe(right);
  });
});

describe("a suspicious price", () => {
  it.each([
    [{ inputPerToken: "0.000001", cacheReadPerToken: "0.000002" }, ["cache_read_above_input"]],
    [{ inputPerToken: "0.00000275", cacheWritePerToken: "0.00000138" }, ["cache_write_below_input"]],
    [{ inputPerToken: "0.00000028", cacheWritePerToken: "0" }, []],
    [{ inputPerToken: "0.000002", outputPerToken: "0.000001" }, ["output_below_input"]],
    [{ inputPerToken: "0.000002", services: { batch: { inputPerToken: "0.000003" } } }, ["discount_above_base"]],
    [{ inputPerToken: "0.000002", services: { priority: { inputPerToken: "0.000003" } } }, []],
    [{ inputPerToken: "0.000002", longContext: { steps: [{ aboveTokens: 1, inputPerToken: "0.000001" }] } }, ["long_context_below_base"]], // prettier-ignore
    [{ inputPerToken: "0.0032" }, ["above_1000_per_million"]],
    [{ inputPerToken: "0.055" }, ["above_10000_per_million"]],
    [{ perImage: "10001" }, ["above_10000_per_million"]],
    [{ inputPerToken: "0.000002", regionMultipliers: { eu: "0.9" } }, ["multiplier_below_one"]],
  ])("%j is told: %j", (rates, codes) => {
    expect(lintPrice(rates).map((warning) => warning.code)).toEqual(codes);
  });

  it("is one far from the last, at the same place of the row", () => {
    const last = { inputPerToken: "0.000001", services: { flex: { inputPerToken: "0.001" } } };
    const warnings = lintPrice({ inputPerToken: "0.000101", services: { flex: { inputPerToken: "0.000009" } } }, last);
    expect(warnings.map(({ path, code, needsConfirmation }) => [path, code, needsConfirmation])).toEqual([
      ["inputPerToken", "hundredfold_of_last", true],
      ["services.flex.inputPerToken", "below_hundredth_of_last", false],
    ]);
  });
});

describe("the difference of two price books", () => {
  it("names what is added, changed by which factor, and removed", () => {
    const price = (model: string, rates: object, currency = "USD") => ({ model, currency, rates });
    const before = [
      price("a", { inputPerToken: "0.0000020", outputPerToken: "0.00001" }),
      price("b", { inputPerToken: "0.1" }),
      price("c", { inputPerToken: "0.000001" }),
      price("d", { inputPerToken: "0.000001" }),
    ];
    const after = [
      price("a", { inputPerToken: "0.000003", outputPerToken: "0.000010", cacheReadPerToken: "0.0000002" }),
      price("c", { inputPerToken: "0.0000010" }),
      price("d", { inputPerToken: "0.000007" }, "CNY"),
      price("e", { inputPerToken: "0.02" }),
    ];
    const changes = diffPriceBooks(before, after);
    expect(changes.map(({ model, kind, rates }) => [model, kind, ...rates.map(({ path, before: was, after: is, factor }) => [path, was, is, factor])])).toEqual([
      ["a", "changed", ["inputPerToken", "0.000002", "0.000003", "1.5"], ["cacheReadPerToken", null, "0.0000002", null]],
      ["b", "removed", ["inputPerToken", "0.1", null, null]],
      ["d", "changed", ["inputPerToken", "0.000001", "0.000007", null]],
      ["e", "added", ["inputPerToken", null, "0.02", null]],
    ]); // prettier-ignore
    expect(changes.at(-1)?.warnings).toMatchObject([{ code: "above_10000_per_million", needsConfirmation: true }]);
  });
});
