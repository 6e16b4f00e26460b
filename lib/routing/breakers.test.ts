import { describe, expect, it } from "vitest";
import { Breakers } from "./breakers";
import { classifyUpstreamError } from "./upstream-error";

const answer = (status: number, code: string) =>
  classifyUpstreamError("openai", { status, codes: [code], message: "" });
/** Every deployment at an account of its own, unless two are named. */
const at = (id: string, account = `account of ${id}`) => ({ id, provider: { id: account } });
const fail = (breakers: Breakers, place: ReturnType<typeof at>, failure: ReturnType<typeof answer>, times = 1) => {
  for (let count = 0; count < times; count += 1) {
    const ticket = breakers.begin(place, 0);
    if (ticket) breakers.end(ticket, failure, 0);
  }
};

describe("the breakers of a process", () => {
  it("one answer of no money or of a refused key takes the deployment out; rate limits and bad requests never do", () => {
    const breakers = new Breakers();
    fail(breakers, at("broke"), answer(429, "insufficient_quota"));
    fail(breakers, at("locked"), answer(401, "invalid_api_key"));
    fail(breakers, at("busy"), answer(429, "rate_limit_exceeded"), 100);
    fail(breakers, at("asked wrongly"), answer(400, "invalid_value"), 100);
    fail(breakers, at("stumbled"), answer(500, ""), 4);
    fail(breakers, at("down"), answer(500, ""), 5);
    const admissions = ["broke", "locked", "busy", "asked wrongly", "stumbled", "down", "new"].map((id) =>
      breakers.admission(at(id), 0),
    );
    expect(admissions).toEqual(["refuse", "refuse", "pass", "pass", "pass", "refuse", "pass"]);
    expect(breakers.begin(at("down"), 0)).toBeUndefined();
    expect(breakers.nextAdmissionMs(at("down"), 0)).toBe(5_000);
    expect(breakers.nextAdmissionMs(at("new"), 7)).toBe(7);
  });

  it("an account without money is out with all its deployments, longer than a server that broke, and longer each time", () => {
    const breakers = new Breakers();
    const money = answer(402, "");
    fail(breakers, at("a", "poor"), money);
    expect([at("a", "poor"), at("b", "poor"), at("c", "rich")].map((one) => breakers.admission(one, 0))).toEqual([
      "refuse",
      "refuse",
      "pass",
    ]);
    expect(breakers.nextAdmissionMs(at("b", "poor"), 0)).toBe(30_000);
    const probe = breakers.begin(at("b", "poor"), 30_000);
    expect(breakers.begin(at("a", "poor"), 30_000)).toBeUndefined();
    if (probe) breakers.end(probe, money, 30_000);
    expect(breakers.nextAdmissionMs(at("a", "poor"), 30_000)).toBe(90_000);
    const paid = breakers.begin(at("a", "poor"), 90_000);
    if (paid) breakers.end(paid, "succeeded", 90_001);
    expect([at("a", "poor"), at("b", "poor")].map((one) => breakers.admission(one, 90_001))).toEqual(["pass", "pass"]);
  });

  it("an allowance of one model that is used up takes that deployment out at once, and leaves the account in", () => {
    const breakers = new Breakers();
    const facts = { status: 403, codes: ["allocationquota.freetieronly"], message: "" };
    fail(breakers, at("a", "x"), classifyUpstreamError("dashscope", facts));
    expect([at("a", "x"), at("b", "x")].map((one) => breakers.admission(one, 0))).toEqual(["refuse", "pass"]);
  });

  it("calls that began before an account ran dry neither heal it nor open it again", () => {
    const breakers = new Breakers();
    const [early, late] = [breakers.begin(at("a", "x"), 0), breakers.begin(at("b", "x"), 0)];
    fail(breakers, at("c", "x"), answer(402, ""));
    if (early) breakers.end(early, "succeeded", 1);
    expect(breakers.admission(at("a", "x"), 1)).toBe("refuse");
    const probe = breakers.begin(at("a", "x"), 30_000);
    if (probe) breakers.end(probe, "succeeded", 30_001);
    if (late) breakers.end(late, answer(402, ""), 30_002);
    expect(breakers.admission(at("a", "x"), 30_002)).toBe("pass");
  });

  it("a probe that succeeds brings the deployment back", () => {
    const breakers = new Breakers();
    fail(breakers, at("a"), answer(500, ""), 5);
    const probe = breakers.begin(at("a"), 5_000);
    expect(breakers.begin(at("a"), 5_000)).toBeUndefined();
    if (probe) breakers.end(probe, "succeeded", 5_001);
    expect(breakers.admission(at("a"), 5_001)).toBe("pass");
  });

  it("remembers a bounded number, and forgets closed ones before open ones", () => {
    const breakers = new Breakers(undefined, undefined, 3);
    fail(breakers, at("down"), answer(500, ""), 5);
    for (const id of ["a", "b", "c", "d"]) breakers.begin(at(id), 0);
    expect(breakers.size).toBe(3);
    expect(breakers.admission(at("down"), 0)).toBe("refuse");
    for (const id of ["x", "y", "z"]) fail(breakers, at(id), answer(500, ""), 5);
    expect(breakers.size).toBe(3);
  });
});
