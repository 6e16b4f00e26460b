/** Whose account a call goes to: consumers that are named, and end users with limits of their own. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { raiseThresholdAlerts } from "@/lib/control/alerts";
import { keysOf } from "@/lib/redis/keys";
import { CallersBench } from "@/lib/testing/callers-bench";

let callers: CallersBench;
beforeAll(async () => {
  callers = await CallersBench.start();
});
afterAll(() => callers.close());
beforeEach(() => {
  callers.reset();
});

describe("X-Consumer-ID", () => {
  it("books on the named consumer and still charges everything above the key", async () => {
    const made = await callers.bench.organisation();
    const named = await callers.app(made, "named");
    const { apiKey, secret } = await callers.keyFor(made, [named]);
    const limits = { limitAmount: "10" };
    const [ofApp, ofKey, ofNamed] = [
      await callers.quota(made, { consumerId: made.consumers.app }, limits),
      await callers.quota(made, { apiKeyId: apiKey.id }, limits),
      await callers.quota(made, { consumerId: named }, limits),
    ];
    expect((await callers.call(secret, { "x-consumer-id": named })).status).toBe(200);
    expect((await callers.call(secret)).status).toBe(200);
    const [first, second] = await callers.booked(made);
    expect(first).toMatchObject({
      app_id: named,
      consumer_path: [made.consumers.root, made.consumers.department, named],
      api_key_id: apiKey.id,
    });
    expect(second?.app_id).toBe(made.consumers.app);
    expect(await Promise.all([ofApp, ofKey, ofNamed].map((id) => callers.settled(made, id)))).toEqual([2n, 2n, 1n]);
    // One entry, one charge of what stands above both.
    expect(await callers.settled(made, made.budgets.organisation?.id ?? "")).toBeGreaterThan(0n);
  });

  it("naming somebody else skips no check: neither the key's own budget nor theirs", async () => {
    const made = await callers.bench.organisation();
    const named = await callers.app(made, "named");
    const entitled = async (limited: { consumerId?: string; apiKeyId?: string } | "key") => {
      const { apiKey, secret } = await callers.keyFor(made, [named]);
      await callers.quota(made, limited === "key" ? { apiKeyId: apiKey.id } : limited, { limitAmount: "1" });
      return secret;
    };
    const ofKey = await entitled("key");
    expect((await callers.call(ofKey, { "x-consumer-id": named })).status).toBe(200);
    expect(await callers.call(ofKey, { "x-consumer-id": named })).toMatchObject({
      status: 429,
      code: "KEY_QUOTA_EXHAUSTED",
    });
    expect(await callers.call(ofKey)).toMatchObject({ status: 429, code: "KEY_QUOTA_EXHAUSTED" });
    const ofNamed = await entitled({ consumerId: named });
    expect((await callers.call(ofNamed, { "x-consumer-id": named })).status).toBe(200);
    expect(await callers.call(ofNamed, { "x-consumer-id": named })).toMatchObject({
      status: 429,
      code: "APP_QUOTA_EXHAUSTED",
    });
    expect((await callers.call(ofNamed)).status).toBe(200);
  });

  it("a consumer that is not granted, of another organisation, or not there is the same 403, and nobody is charged", async () => {
    const [made, other] = await Promise.all([callers.bench.organisation(), callers.bench.organisation()]);
    const sibling = await callers.app(made, "sibling");
    const names = [
      sibling,
      made.consumers.team,
      made.consumers.root,
      other.consumers.app,
      "con_nobody",
      "",
      "__proto__",
    ];
    const { token } = await callers.issuerOf(made);
    for (const secret of [made.apiKey.secret, await token()]) {
      for (const name of names) {
        expect(await callers.call(secret, { "x-consumer-id": name })).toMatchObject({
          status: 403,
          code: "consumer_forbidden",
        });
      }
      expect((await callers.call(secret, { "x-consumer-id": made.consumers.app })).status).toBe(200);
    }
    expect(await callers.booked(made)).toHaveLength(2);
    expect(await callers.booked(other)).toEqual([]);
  });
});

describe("a person's token", () => {
  it("may be booked on the person's own consumer, and on nobody else's below the app", async () => {
    const made = await callers.bench.organisation();
    const [ada, bob] = [await callers.user(made, "Ada"), await callers.user(made, "Bob")];
    const { token } = await callers.issuerOf(made);
    expect((await callers.call(await token(), { "x-consumer-id": ada })).status).toBe(200);
    const refused = await callers.call(await token(), { "x-consumer-id": bob });
    expect(refused).toMatchObject({ status: 403, code: "consumer_forbidden" });
    // The application itself, and a token that speaks for it and for no person, may name its users.
    for (const secret of [made.apiKey.secret, await token({ sub: undefined })]) {
      expect((await callers.call(secret, { "x-consumer-id": bob })).status).toBe(200);
    }
    expect((await callers.booked(made)).map(({ app_id: id }) => id)).toEqual([ada, bob, bob]);
  });
});

describe("end users", () => {
  it("each has his own limit, whichever way he is named, and nobody's name is in a key of Redis", async () => {
    const made = await callers.bench.organisation();
    const id = await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true, limitAmount: "2" });
    const { secret } = made.apiKey;
    const byHeader = (name: string) => callers.call(secret, { "x-spillway-end-user": name });
    expect((await byHeader("ada@acme.example")).status).toBe(200);
    expect((await callers.call(secret, {}, { user: "ADA@acme.example " })).status).toBe(200);
    expect(await byHeader("ada@acme.example")).toMatchObject({ status: 429, code: "APP_QUOTA_EXHAUSTED" });
    expect((await byHeader("bob@acme.example")).status).toBe(200);
    // The header, of the application, goes before the body.
    expect(
      (await callers.call(secret, { "x-spillway-end-user": "ada@acme.example" }, { user: "bob@acme.example" })).status,
    ).toBe(429);
    expect(await callers.settled(made, id)).toBe(3n);
    const counters = await callers.bench.store.redis.keys(keysOf(made.organisationId).counter(id, "*"));
    expect(counters).toHaveLength(2);
    for (const name of counters) expect(name).toMatch(/\.eu_[0-9a-f]{32}$/u);
  });

  it("leaving the name out is no way around: calls without one share a limit", async () => {
    const made = await callers.bench.organisation();
    await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true, limitAmount: "1" });
    expect((await callers.call(made.apiKey.secret)).status).toBe(200);
    expect(await callers.call(made.apiKey.secret)).toMatchObject({ status: 429, code: "APP_QUOTA_EXHAUSTED" });
  });

  it("a name never widens: the application's own limit holds for all together", async () => {
    const made = await callers.bench.organisation();
    await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true, limitAmount: "5" });
    await callers.quota(made, { consumerId: made.consumers.app }, { limitAmount: "2" });
    const statuses: number[] = [];
    for (const user of ["a", "b", "c"]) statuses.push((await callers.call(made.apiKey.secret, {}, { user })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("a name that cannot be counted under is the caller's mistake, not nobody's call", async () => {
    const made = await callers.bench.organisation();
    await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true });
    for (const name of ["a\u200bb", "x".repeat(257)]) {
      expect(await callers.call(made.apiKey.secret, {}, { user: name.slice(0, 256) })).toMatchObject({
        status: name.length > 3 ? 200 : 400,
      });
    }
    expect(await callers.call(made.apiKey.secret, { "x-spillway-end-user": "x".repeat(257) })).toMatchObject({
      status: 400,
    });
    expect(await callers.booked(made)).toHaveLength(1);
  });

  it("a token's person is the one who is counted, whatever the client says", async () => {
    const made = await callers.bench.organisation();
    await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true, limitAmount: "1" });
    const { token } = await callers.issuerOf(made);
    expect((await callers.call(await token())).status).toBe(200);
    expect((await callers.call(await token(), { "x-spillway-end-user": "somebody" }, { user: "else" })).status).toBe(
      429,
    );
  });

  it("one person at his limit raises no alert of the company's, the application at its own does", async () => {
    const made = await callers.bench.organisation();
    const { organisationId, consumers } = made;
    const ofEach = await callers.quota(made, { consumerId: consumers.app }, { perEndUser: true, limitAmount: "2" });
    const ofAll = await callers.quota(made, { consumerId: consumers.app }, { limitAmount: "2" });
    for (const user of ["ada", "ada"]) await callers.call(made.apiKey.secret, {}, { user });
    await callers.booked(made);
    const { rows } = await callers.bench.control.db.pool.query<{ budgetId: string; periodId: string }>(
      `SELECT budget_id AS "budgetId", period_id AS "periodId" FROM budget_rollups WHERE organisation_id = $1`,
      [organisationId],
    );
    const raised = async (budgetId: string) => {
      const touched = rows.filter((row) => row.budgetId === budgetId);
      expect(touched).toHaveLength(1);
      return (await raiseThresholdAlerts(callers.bench.books, organisationId, touched)).length;
    };
    expect(await raised(ofEach)).toBe(0);
    expect(await raised(ofAll)).toBeGreaterThan(0);
  });

  it("counters of end users agree with the ledger, each by himself", async () => {
    const made = await callers.bench.organisation();
    const id = await callers.quota(made, { consumerId: made.consumers.app }, { perEndUser: true, limitAmount: "2" });
    for (const user of ["ada", "ada", "bob"]) await callers.call(made.apiKey.secret, {}, { user });
    await callers.booked(made);
    const { rows } = await callers.bench.control.db.pool.query<{ period_id: string; amount: string }>(
      `SELECT period_id, amount::text FROM budget_rollups WHERE organisation_id = $1 AND budget_id = $2`,
      [made.organisationId, id],
    );
    expect(rows.map(({ amount }) => amount).sort()).toEqual(["1", "2"]);
    const redis = keysOf(made.organisationId);
    for (const { period_id: periodId, amount } of rows) {
      expect(await callers.bench.store.redis.hget(redis.counter(id, periodId), "s")).toBe(amount);
    }
  });
});
