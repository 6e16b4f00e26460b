/** What limits calls beside budgets of money: sessions, rates by the second, and filters of budgets, at every level at once. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { setRateLimit } from "@/lib/control/rate-limits";
import type { PolicyDocument } from "@/lib/domain/policy";
import { policyDocumentSchema } from "@/lib/domain/policy";
import { keysOf } from "@/lib/redis/keys";
import { CallersBench } from "@/lib/testing/callers-bench";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";

let callers: CallersBench;
beforeAll(async () => {
  callers = await CallersBench.start();
});
afterAll(() => callers.close());
beforeEach(() => {
  callers.reset();
});

function companyWith(session: object): Promise<TestOrganisation> {
  const policy: PolicyDocument = policyDocumentSchema.parse({ session });
  return callers.bench.organisation({ policy });
}

function inSession(made: TestOrganisation, name: string, more: Record<string, string> = {}) {
  return callers.call(made.apiKey.secret, { "x-spillway-session": name, ...more });
}

/** The counters of sessions of one meter. */
async function sessionKeys(made: TestOrganisation, meter: string): Promise<string[]> {
  return callers.bench.store.redis.keys(keysOf(made.organisationId).session("*", meter));
}

describe("a session", () => {
  it("has so many requests, which other sessions and calls outside of any do not take", async () => {
    const made = await companyWith({ requests: 2 });
    expect((await inSession(made, "run-1")).status).toBe(200);
    expect((await inSession(made, "run-1")).status).toBe(200);
    const refused = await inSession(made, "run-1", { "accept-language": "zh-CN" });
    expect(refused).toMatchObject({ status: 429, code: "SESSION_QUOTA_EXHAUSTED" });
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(refused.headers.get("retry-after")).toBeNull();
    expect(refused.error?.message).toContain("会话“run-1”");
    expect(refused.error?.budget).toMatchObject({ scope: "session", limit: "2", used: "2", resets_at: null });
    expect((await inSession(made, "run-2")).status).toBe(200);
    expect((await callers.call(made.apiKey.secret)).status).toBe(200);
    // The ledger charges budgets only, and no name is in a key of Redis.
    expect(await callers.booked(made)).toHaveLength(4);
    expect(await sessionKeys(made, "requests")).toHaveLength(2);
    expect(await callers.bench.store.redis.keys(`${keysOf(made.organisationId).prefix}*run-1*`)).toEqual([]);
  });

  it("never costs more than it may, however many of its calls come at once", async () => {
    const limit = 60_000n;
    const made = await companyWith({ costNanos: String(limit), idleSeconds: 600 });
    const answers = await Promise.all(Array.from({ length: 24 }, () => inSession(made, "run")));
    const codes = new Set(answers.map(({ status, code }) => (status === 200 ? "served" : code)));
    expect(codes).toEqual(new Set(["served", "SESSION_BUDGET_EXHAUSTED"]));
    const [key = ""] = await sessionKeys(made, "cost");
    const read = () => callers.bench.store.redis.hmget(key, "s", "h");
    await expect.poll(async () => (await read())[1]).toBe("0");
    const settled = BigInt((await read())[0] ?? "0");
    expect(settled).toBeGreaterThan(0n);
    expect(settled <= limit).toBe(true);
    const leftMs = await callers.bench.store.redis.pttl(key);
    expect(leftMs > 0 && leftMs <= 600_000).toBe(true);
    await callers.booked(made);
    const entries = await callers.bench.ledger(made.organisationId);
    expect(entries.reduce((sum, { amount }) => sum + amount, 0n)).toBe(settled);
  });

  it("is the key's app's own, whoever the call is booked on", async () => {
    const made = await companyWith({ requests: 1 });
    const named = await callers.app(made, "named");
    const { secret } = await callers.keyFor(made, [named]);
    expect((await callers.call(secret, { "x-spillway-session": "run" })).status).toBe(200);
    const booked = { "x-spillway-session": "run", "x-consumer-id": named };
    expect(await callers.call(secret, booked)).toMatchObject({ status: 429, code: "SESSION_QUOTA_EXHAUSTED" });
  });

  it("must be named where the policy says so, and its name must be one", async () => {
    const made = await companyWith({ requests: 5, isRequired: true });
    const param = "x-spillway-session";
    expect(await callers.call(made.apiKey.secret)).toMatchObject({ status: 400, error: { param } });
    for (const name of ["", "a b", "x".repeat(257), "naïve"]) {
      expect(await inSession(made, name)).toMatchObject({ status: 400, error: { param } });
    }
    expect((await inSession(made, "run-1")).status).toBe(200);
  });
});

describe("requests by the second", () => {
  const setRate = (made: TestOrganisation, target: object, requestsPerSecond: number | null) =>
    setRateLimit(callers.bench.control, testPrincipal, {
      ...{ organisationId: made.organisationId, consumerId: null, apiKeyId: null, ...target },
      requestsPerSecond,
    });

  it("are so many at once at every level, the tightest of which says when to come again", async () => {
    const made = await callers.bench.organisation();
    const { consumers, apiKey } = made;
    const levels = [consumers.root, consumers.department, consumers.team, consumers.app];
    for (const consumerId of levels) await setRate(made, { consumerId }, 1_000);
    const burst = async () =>
      (await Promise.all(Array.from({ length: 6 }, () => callers.call(apiKey.secret)))).filter(
        ({ status }) => status === 200,
      ).length;
    expect(await burst()).toBe(6);
    for (const target of [...levels.map((consumerId) => ({ consumerId })), { apiKeyId: apiKey.id }]) {
      await setRate(made, target, 1);
      expect(await burst()).toBe(1);
      const refused = await callers.call(apiKey.secret);
      expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
      expect(Number(refused.headers.get("retry-after-ms"))).toBeLessThanOrEqual(1_200);
      await setRate(made, target, null);
    }
    expect(await burst()).toBe(6);
  });
});

describe("quotas of a model, a class or both", () => {
  const levels = ["root", "department", "team", "app", "key"] as const;
  const targetOf = (made: TestOrganisation, level: (typeof levels)[number]) =>
    level === "key" ? { apiKeyId: made.apiKey.id } : { consumerId: made.consumers[level] };

  it.each(levels)("hold at the %s for what they name and leave the rest alone", async (level) => {
    const made = await callers.bench.organisation();
    const target = targetOf(made, level);
    const others = [
      { models: ["sandbox-large", "sandbox-*-small"] },
      { classes: ["core"] },
      { models: ["sandbox-*"], classes: ["marketing"] },
      { environment: "test" },
    ];
    for (const filter of others) await callers.quota(made, target, { limitAmount: "0", ...filter });
    expect((await callers.call(made.apiKey.secret)).status).toBe(200);
    await callers.quota(made, target, { limitAmount: "0", models: ["sandbox-s*"], classes: ["general"] });
    const refused = await callers.call(made.apiKey.secret);
    const scope = { root: "ORGANIZATION", department: "DEPARTMENT", team: "TEAM", app: "APP", key: "KEY" }[level];
    expect([refused.status, refused.code]).toEqual([429, `${scope}_QUOTA_EXHAUSTED`]);
    expect((await callers.call(made.apiKey.secret, {}, { model: "sandbox-medium" })).status).toBe(200);
  });

  it("of every meter and level are charged by one call, each what it counts", async () => {
    const made = await callers.bench.organisation();
    const meters = ["requests", "input_tokens", "output_tokens", "total_tokens", "cost"] as const;
    const ids: string[] = [];
    for (const [index, meter] of meters.entries()) {
      const filter = index % 2 === 0 ? { models: ["sandbox-small"] } : { classes: ["general"] };
      const facts = { meter, limitAmount: "1000000000", ...filter };
      ids.push(await callers.quota(made, targetOf(made, levels[index] ?? "key"), facts));
    }
    expect((await callers.call(made.apiKey.secret)).status).toBe(200);
    await callers.booked(made);
    const [entry] = await callers.bench.ledger(made.organisationId);
    const { inputTokens = 0, outputTokens = 0 } = entry?.usage ?? {};
    const settled = await Promise.all(ids.map((id) => callers.settled(made, id)));
    const tokens = [inputTokens, outputTokens, inputTokens + outputTokens].map(BigInt);
    expect(settled).toEqual([1n, ...tokens, entry?.amount]);
  });
});
