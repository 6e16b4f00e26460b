import { describe, expect, it } from "vitest";
import { Breakers } from "./breakers";
import { classifyUpstreamError } from "./upstream-error";

const answer = (status: number, code: string) =>
  classifyUpstreamError("openai", { status, codes: [code], message: "" });
const fail = (breakers: Breakers, id: string, failure: ReturnType<typeof answer>, times = 1) => {
  for (let count = 0; count < times; count += 1) {
    const ticket = breakers.begin(id, 0);
    if (ticket) breakers.end(ticket, failure, 0);
  }
};

describe("the breakers of a process", () => {
  it("one answer of no money or of a refused key takes the deployment out; rate limits and bad requests never do", () => {
    const breakers = new Breakers();
    fail(breakers, "broke", answer(429, "insufficient_quota"));
    fail(breakers, "locked", answer(401, "invalid_api_key"));
    fail(breakers, "busy", answer(429, "rate_limit_exceeded"), 100);
    fail(breakers, "asked wrongly", answer(400, "invalid_value"), 100);
    fail(breakers, "stumbled", answer(500, ""), 4);
    fail(breakers, "down", answer(500, ""), 5);
    const admissions = ["broke", "locked", "busy", "asked wrongly", "stumbled", "down", "new"].map((id) =>
      breakers.admission(id, 0),
    );
    expect(admissions).toEqual(["refuse", "refuse", "pass", "pass", "pass", "refuse", "pass"]);
    expect(breakers.begin("down", 0)).toBeUndefined();
    expect(breakers.nextAdmissionMs("down", 0)).toBe(5_000);
    expect(breakers.nextAdmissionMs("new", 7)).toBe(7);
  });

  it("a probe that succeeds brings the deployment back", () => {
    const breakers = new Breakers();
    fail(breakers, "a", answer(401, ""));
    const probe = breakers.begin("a", 5_000);
    expect(breakers.begin("a", 5_000)).toBeUndefined();
    if (probe) breakers.end(probe, "succeeded", 5_001);
    expect(breakers.admission("a", 5_001)).toBe("pass");
  });

  it("remembers a bounded number, and forgets closed ones before open ones", () => {
    const breakers = new Breakers(undefined, 3);
    fail(breakers, "down", answer(401, ""));
    for (const id of ["a", "b", "c", "d"]) breakers.begin(id, 0);
    expect(breakers.size).toBe(3);
    expect(breakers.admission("down", 0)).toBe("refuse");
    for (const id of ["x", "y", "z"]) fail(breakers, id, answer(401, ""));
    expect(breakers.size).toBe(3);
  });
});
