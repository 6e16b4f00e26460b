import { describe, expect, it } from "vitest";
import { readCsvPriceBook, readYamlPriceBook } from "./price-book-text";

const yaml = (rates: string, head = "") => `prices:
  - model: gpt-4o
    currency: USD
    unit: million_tokens
    effectiveFrom: 2026-12-01T00:00:00Z
${head}    rates:
${rates}`;

describe("a price book in YAML", () => {
  it("is read with every digit as written, per million as per token", () => {
    const reading = readYamlPriceBook(
      yaml(`      inputPerToken: 2.50
      outputPerToken: 10
      cacheReadPerToken: 0.123456789012345678901
      perRequest: 0.005
      services: { flex: { inputPerToken: 1.25 } }
      longContext: { steps: [{ aboveTokens: 200000, inputPerToken: 5 }] }
      windows:
        - { hours: [{ from: "22:00", to: "06:00" }], weekdays: [6, 7], rates: { inputPerToken: 1 } }
`),
    );
    expect(reading).toEqual({
      ok: true,
      rows: [
        {
          model: "gpt-4o",
          currency: "USD",
          effectiveFromMs: Date.UTC(2026, 11, 1),
          effectiveToMs: null,
          source: null,
          rates: {
            inputPerToken: "0.0000025",
            outputPerToken: "0.00001",
            cacheReadPerToken: "0.000000123456789012345678901",
            perRequest: "0.005",
            services: { flex: { inputPerToken: "0.00000125" } },
            longContext: { steps: [{ aboveTokens: 200_000, inputPerToken: "0.000005" }] },
            windows: [
              { hours: [{ from: "22:00", to: "06:00" }], weekdays: [6, 7], rates: { inputPerToken: "0.000001" } },
            ],
          },
        },
      ],
    });
  });

  it.each([
    ["a negative price", "      inputPerToken: -1\n", 7, "prices[0].rates.inputPerToken"],
    ["an exponent", "      inputPerToken: 1e309\n", 7, "prices[0].rates.inputPerToken"],
    ["not a number", "      outputPerToken: .nan\n", 7, "prices[0].rates.outputPerToken"],
    ["a slip of the pen", "      inputPerTokn: 1\n", 7, "prices[0].rates.inputPerTokn"],
    [
      "a slip in depth",
      "      services:\n        flex:\n          input: 1\n",
      9,
      "prices[0].rates.services.flex.input",
    ],
    ["no price at all", "      {}\n", 7, "prices[0].rates"],
  ])("with %s is refused whole, with line and path", (_, rates, line, path) => {
    const reading = readYamlPriceBook(yaml(rates));
    expect(reading).toMatchObject({ ok: false, problems: [{ line, path }] });
  });

  it("names every error, not only the first", () => {
    const reading = readYamlPriceBook(`prices:
  - { model: a, currency: usd, unit: token, effectiveFrom: 2026-12-01, rates: { inputPerToken: 1 } }
  - { model: b, currency: USD, unit: each, effectiveFrom: 2026-02-30, rates: { inputPerToken: 1 } }
  - { model: c, currency: USD, unit: token, effectiveFrom: 2026-12-01, rates: { inputPerToken: 1 } }
  - { model: c, currency: USD, unit: token, effectiveFrom: 2026-12-01T00:00:00Z, rates: { inputPerToken: 2 } }
`);
    if (reading.ok) throw new Error("accepted");
    expect(reading.problems.map(({ line, path }) => [line, path])).toEqual([
      [2, "prices[0].currency"],
      [3, "prices[1].unit"],
      [3, "prices[1].effectiveFrom"],
      [5, "prices[3].effectiveFrom"],
    ]);
  });

  it.each(["", "a: [", "prices: 5", "a: &a [*a]", "prices: []"])("that is %j is refused", (text) => {
    expect(readYamlPriceBook(text).ok).toBe(false);
  });
});

describe("a price book in CSV", () => {
  it("says the same as its YAML", () => {
    const reading = readCsvPriceBook(
      `model,currency,unit,effectiveFrom,effectiveTo,inputPerToken,outputPerToken,services.flex.inputPerToken,longContext.steps.0.aboveTokens,longContext.steps.0.inputPerToken,webSearch.medium
"gpt-4o",USD,million_tokens,2026-12-01,2027-01-01,2.5,10,1.25,200000,5,
qwen,CNY,token,2026-12-01,,0.0000025,0.00001,,,,0.01
`,
    );
    expect(reading).toEqual({
      ok: true,
      rows: [
        expect.objectContaining({
          model: "gpt-4o",
          effectiveToMs: Date.UTC(2027, 0, 1),
          rates: {
            inputPerToken: "0.0000025",
            outputPerToken: "0.00001",
            services: { flex: { inputPerToken: "0.00000125" } },
            longContext: { steps: [{ aboveTokens: 200_000, inputPerToken: "0.000005" }] },
          },
        }),
        expect.objectContaining({
          currency: "CNY",
          rates: { inputPerToken: "0.0000025", outputPerToken: "0.00001", webSearch: { medium: "0.01" } },
        }),
      ],
    });
  });

  it("names the line of an error, behind lines with breaks in them", () => {
    const reading = readCsvPriceBook(
      `model,currency,unit,effectiveFrom,source,inputPerToken
a,USD,token,2026-12-01,"two
lines",1
b,USD,token,2026-12-01,,"1,5"
`,
    );
    expect(reading).toMatchObject({ ok: false, problems: [{ line: 4, path: "rates.inputPerToken" }] });
  });

  it.each([
    ["a column twice", "model,model\na,b\n"],
    ["a name that reaches a prototype", "model,constructor.prototype.x\na,1\n"],
    ["a cell too many", "model,currency\na,b,c\n"],
    ["nothing", ""],
  ])("with %s is refused", (_, text) => {
    expect(readCsvPriceBook(text).ok).toBe(false);
  });
});
