import { describe, expect, it } from "vitest";
import { readCsvPriceBook, readYamlPriceBook } from "@/lib/control/price-book-text";
import en from "@/messages/en.json";
import { problemKey, problemsOf } from "./import-problems";

const HEAD = "model,currency,unit,effectiveFrom,effectiveTo,inputPerToken";

describe("mistakes of an imported file", () => {
  it("stand at their line and place; fields of the form are no part of it", () => {
    expect(
      problemsOf({
        "text:12:rates.inputPerToken": "rate_malformed",
        "text:gpt: 4": "x",
        text: "y",
        source: "required",
      }),
    ).toEqual([
      { line: 12, path: "rates.inputPerToken", text: "rate_malformed" },
      { line: null, path: "gpt: 4", text: "x" },
      { line: null, path: "", text: "y" },
    ]);
  });

  it.each([
    ["no row", HEAD],
    ["a bad currency", `${HEAD}\nm,usd,token,2027-01-01,,0.1`],
    ["a bad unit", `${HEAD}\nm,USD,tokens,2027-01-01,,0.1`],
    ["no unit", `${HEAD}\nm,USD,,2027-01-01,,0.1`],
    ["a bad date", `${HEAD}\nm,USD,token,2027-02-30,,0.1`],
    ["an end before its start", `${HEAD}\nm,USD,token,2027-02-01,2027-01-01,0.1`],
    ["a bad rate", `${HEAD}\nm,USD,token,2027-01-01,,cheap`],
    ["no rate", `${HEAD}\nm,USD,token,2027-01-01,,`],
    ["a row twice", `${HEAD}\nm,USD,token,2027-01-01,,0.1\nm,USD,token,2027-01-01,,0.2`],
    ["a price of no such name", `${HEAD},inputPerTokens\nm,USD,token,2027-01-01,,0.1,0.2`],
    ["a column twice", `${HEAD},model\nm,USD,token,2027-01-01,,0.1,m`],
    ["a name that is none", `${HEAD},no name\nm,USD,token,2027-01-01,,0.1,m`],
    ["too many cells", `${HEAD}\nm,USD,token,2027-01-01,,0.1,0.2`],
  ])("%s in a CSV file has words in both languages", (_, text) => {
    const reading = readCsvPriceBook(text);
    const problems = reading.ok ? [] : reading.problems;
    expect(problems).not.toEqual([]);
    for (const { message } of problems) expect(Object.keys(en.importProblems), message).toContain(problemKey(message));
  });

  it("a YAML file without prices has words, too", () => {
    const reading = readYamlPriceBook("models: []");
    expect(reading.ok ? [] : reading.problems.map(({ message }) => problemKey(message))).toEqual(["needsPrices"]);
  });
});
