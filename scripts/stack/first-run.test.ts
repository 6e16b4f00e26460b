import { describe, expect, it } from "vitest";
import { parseSeedOutput } from "./first-run";

const line = JSON.stringify({ email: "ada@example.com", password: "p", apiKey: "sw_live_x", model: "m" });

describe("the output of the seed", () => {
  it("is found among whatever else was printed", () => {
    expect(parseSeedOutput(`loading\n{not json\n{"other":1}\n${line}\ndone\n`)).toMatchObject({
      apiKey: "sw_live_x",
      model: "m",
    });
  });

  it("is nothing when the database was seeded before", () => {
    expect(parseSeedOutput("the sample company is there already\n")).toBeUndefined();
    expect(parseSeedOutput("")).toBeUndefined();
  });
});
