/** A quota store that is slow, away or back again: callers of hard budgets hear so at once, and no money stays behind. */
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestOrganisation } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { FenceWatch, recoverOrganisation } from "@/lib/control/recovery";

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

describe("a store that is away", () => {
  const FEW = 10;

  it("litellm breaker: callers hear so at once instead of hanging, and the books agree when it is back", async () => {
    const dataDir = throwAwayFolder("spillway-away");
    let server = await startRedis({ dataDir, appendonly: true });
    const away = await startTestBench(await testDatabaseUrl(), server.url);
    try {
      const made = await away.organisation();
      const gateway = await away.gateway();
      const call = (latencyMs = 0) =>
        gateway.handle(
          new Request("http://gateway.test/v1/chat/completions", {
            method: "POST",
            headers: { authorization: `Bearer ${made.apiKey.secret}` },
            body: JSON.stringify({ ...(JSON.parse(bodyText) as object), sandbox: { latencyMs } }),
          }),
          { waitUntil: () => undefined },
        );
      const counter = () => away.counter(made.organisationId, made.budgets.organisation?.id ?? "");
      for (let index = 0; index < 3; index += 1) expect((await call()).status).toBe(200);
      const flying = call(1_500);
      await expect.poll(async () => (await counter()).held > 0n).toBe(true);
      await server.stop();

      const waits: number[] = [];
      for (let index = 0; index < FEW; index += 1) {
        const startedMs = performance.now();
        const refused = await call();
        waits.push(performance.now() - startedMs);
        expect([refused.status, await codeOf(refused), Number(refused.headers.get("retry-after")) > 0]).toEqual([
          503,
          "quota_store_unavailable",
          true,
        ]);
      }
      // The machine may be busy for one of them; not for half.
      expect(waits.sort((one, other) => one - other)[FEW / 2]).toBeLessThan(200);
      // Who was under way when the store went gets its answer; its end is told when there is somebody to tell.
      expect((await flying).status).toBe(200);

      server = await startRedis({ dataDir, appendonly: true, port: server.port });
      const watch = new FenceWatch();
      const recovered = async () => {
        await gateway.ledger.heartbeat();
        return recoverOrganisation(away.books, made.organisationId, watch);
      };
      await expect.poll(() => recovered().catch(() => "away"), { timeout: 20_000 }).toBe("recovered");
      await expect.poll(async () => (await call()).status, { timeout: 5_000 }).toBe(200);
      await expect.poll(async () => (await counter()).held, { timeout: 5_000 }).toBe(0n);
      await away.book(made.organisationId);
      const ledger = await away.ledger(made.organisationId);
      expect(ledger).toHaveLength(5);
      expect((await counter()).settled).toBe(ledger.reduce((sum, entry) => sum + entry.amount, 0n));
    } finally {
      await away.close();
      await server.stop();
    }
  }, 60_000);
});
