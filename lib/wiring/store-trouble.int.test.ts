/** A quota store that is slow, away or back again: callers of hard budgets hear so at once, and no money stays behind. */
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestOrganisation } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";

const PAUSE_MS = 2_000;

let bench: TestBench;
let operator: Redis;
beforeAll(async () => {
  const { url } = await startPrivateRedis();
  bench = await startTestBench(await testDatabaseUrl(), url);
  operator = new Redis(url);
});
afterAll(async () => {
  operator.disconnect();
  await bench.close();
});

const bodyText = JSON.stringify({
  model: "sandbox-small",
  max_tokens: 16,
  messages: [{ role: "user", content: "hi" }],
});

async function caller() {
  const made = await bench.organisation();
  const gateway = await bench.gateway();
  const call = () =>
    gateway.handle(
      new Request("http://gateway.test/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}` },
        body: bodyText,
      }),
      { waitUntil: () => undefined },
    );
  return { made, call };
}

const held = async (made: TestOrganisation) =>
  (await bench.counter(made.organisationId, made.budgets.organisation?.id ?? "")).held;

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

describe("a store that is slow", () => {
  it("BerriAI breaker, AutoGPT PR#12990: refuses long before the store answers, and gives back what it took meanwhile", async () => {
    const { made, call } = await caller();
    expect((await call()).status).toBe(200);
    await expect.poll(() => held(made)).toBe(0n);
    let isPaused = true;
    const pause = operator.call("CLIENT", "PAUSE", String(PAUSE_MS), "ALL");
    await pause;
    // Answered when the pause is over, and not before.
    const over = operator.ping().then(() => {
      isPaused = false;
    });
    const refused = await call();
    expect(isPaused).toBe(true);
    expect([refused.status, await codeOf(refused), Number(refused.headers.get("retry-after")) > 0]).toEqual([
      503,
      "quota_store_unavailable",
      true,
    ]);
    await over;
    await expect.poll(() => held(made), { timeout: 5_000 }).toBe(0n);
    expect(await bench.store.redis.zcard(`sw:{${made.organisationId}}:deadlines`)).toBe(0);
    expect((await call()).status).toBe(200);
  });

  it("refuses a key that this process has not seen yet just as soon", async () => {
    const { call } = await caller();
    let isPaused = true;
    await operator.call("CLIENT", "PAUSE", String(PAUSE_MS), "ALL");
    const over = operator.ping().then(() => {
      isPaused = false;
    });
    expect((await call()).status).toBe(503);
    expect(isPaused).toBe(true);
    await over;
    await expect.poll(async () => (await call()).status, { timeout: 5_000 }).toBe(200);
  });
});
