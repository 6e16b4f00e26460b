import { describe, expect, it } from "vitest";
import { otherRates, perMillion, perToken, rateLines, shownRate } from "./rate-text";

describe("rates as people read them", () => {
  it.each([
    ["0.0000025", "2.5"],
    ["0.00000015", "0.15"],
    ["0", "0"],
    ["0.000000000000000000000000001", "0.000000000000000000001"],
    ["12", "12000000"],
    ["0.5", "500000"],
    ["0.01", "10000"],
  ])("%s a token is %s a million, to the last digit", (token, million) => {
    expect(perMillion(token)).toBe(million);
    expect(perToken(million)).toBe(token);
  });

  it("only tokens are told by the million", () => {
    expect(shownRate("longContext.steps[0].inputPerToken", "0.000005")).toBe("5.00");
    expect(shownRate("images[0].perImage", "0.04")).toBe("0.04");
    expect(shownRate("inputPerToken", "0.15")).toBe("150,000.00");
    expect(shownRate("perRequest", "1234567.0005")).toBe("1,234,567.0005");
    expect(shownRate("inputPerToken", "0.000000075")).toBe("0.075");
    expect(shownRate("longContext.steps[0].aboveTokens", "200000")).toBe("200,000");
    expect(shownRate("windows[0].hours", '{"from":"00:30"}')).toBe('{"from":"00:30"}');
  });

  it("say everything that the row says, with its path", () => {
    const rates = {
      inputPerToken: "0.000001",
      perRequest: "0.01",
      longContext: { steps: [{ aboveTokens: 200_000, inputPerToken: "0.000002" }] },
    };
    expect(rateLines(rates)).toHaveLength(4);
    expect(otherRates(rates)).toEqual([
      { path: "perRequest", text: "0.01" },
      { path: "longContext.steps[0].aboveTokens", text: "200000" },
      { path: "longContext.steps[0].inputPerToken", text: "0.000002" },
    ]);
  });
});
