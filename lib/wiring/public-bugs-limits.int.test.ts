/** Slots and searches. Each test names the public thread in which they ran out elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKeyListQuery } from "@/lib/contracts/keys";
import { requestListQuery } from "@/lib/contracts/requests";
import { setRateLimit } from "@/lib/control/rate-limits";
import { searchApiKeys } from "@/lib/db/console-keys";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { BugRig } from "@/lib/testing/public-bugs";
import { startBugRig, statuses } from "@/lib/testing/public-bugs";

let rig: BugRig;
beforeAll(async () => {
  rig = await startBugRig();
});
afterAll(() => rig.bench.close());

/** An organisation whose app may have two calls at once, as its gateways know it. */
async function twoAtOnce(): Promise<TestOrganisation> {
  const made = await rig.bench.organisation();
  await setRateLimit(rig.bench.control, testPrincipal, {
    organisationId: made.organisationId,
    consumerId: made.consumers.app,
    apiKeyId: null,
    concurrency: 2,
  });
  return made;
}

const stream = (tokens: number) => ({
  body: { stream: true, max_tokens: 200 },
  control: { completionTokens: tokens, chunkDelayMs: 20 },
});

describe("slots of concurrency", () => {
  it("litellm#20256: twenty streams that were left in the middle hold none of two slots", async () => {
    const made = await twoAtOnce();
    for (let index = 0; index < 10; index += 1) {
      const leaving = new AbortController();
      const pair = await Promise.all([0, 1].map(() => rig.chat(made, { ...stream(100), signal: leaving.signal })));
      expect(statuses(pair)).toEqual({ 200: 2 });
      expect((await rig.chat(made)).status).toBe(429);
      for (const { body } of pair) await body?.getReader().read();
      leaving.abort();
      await expect.poll(async () => (await rig.counter(made)).held, { timeout: 1_000, interval: 20 }).toBe(0n);
    }
    expect(statuses(await Promise.all([rig.chat(made), rig.chat(made)]))).toEqual({ 200: 2 });
  });

  it.each([
    ["times out at the provider", { status: 504 }],
    ["the provider breaks off", { fault: "close_socket" }],
    ["the provider finds wrong", { status: 400, errorCode: "context_length_exceeded" }],
  ])("litellm#27955: a call that %s gives its slot back", async (_what, control) => {
    const made = await twoAtOnce();
    for (let index = 0; index < 4; index += 1) {
      const pair = await Promise.all([rig.chat(made, { control }), rig.chat(made, { control })]);
      expect(pair.map((response) => response.status)).not.toContain(429);
    }
    expect(statuses(await Promise.all([rig.chat(made), rig.chat(made)]))).toEqual({ 200: 2 });
  });
});

describe("a search", () => {
  it("CVE-2026-25591: takes wildcards as letters, is no longer than a name, and gives one page", async () => {
    const made = await rig.bench.organisation();
    const { pool } = rig.bench.control.db;
    const rows = Array.from({ length: 300 }, (_, index) => `key_s${String(index)}${made.organisationId}`);
    await pool.query(
      `INSERT INTO api_keys (id, organisation_id, app_id, name, environment, updated_at)
       SELECT id, $1, $2, repeat('a', 80), 'production', now() FROM unnest($3::text[]) AS k(id)`,
      [made.organisationId, made.consumers.app, rows],
    );
    const wild = "%_".repeat(40);
    const found = async (q: string) => {
      const query = apiKeyListQuery.parse({ q });
      const search = {
        ...{ organisationId: made.organisationId, appIds: [made.consumers.app], text: query.q, state: query.state },
        ...{ nowMs: Date.now(), soonMs: Date.now(), afterId: null, limit: 51 },
      };
      return (await searchApiKeys(pool, search)).length;
    };
    expect(await found("%_%_%")).toBe(0);
    expect(await found(wild)).toBe(0);
    expect(await found("\\")).toBe(0);
    expect(await found("aaaa")).toBe(51);
    for (const query of [apiKeyListQuery, requestListQuery]) {
      expect(query.safeParse({ q: `${wild}%` }).success).toBe(false);
    }
  });
});
