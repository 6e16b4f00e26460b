/** Processes and stores that die. Each test names the public thread in which money leaked elsewhere. */
import { join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_ENDS } from "@/lib/redis/gateway-calls";
import { ensureGeneration, FenceWatch, recoverOrganisation } from "@/lib/control/recovery";
import { sweepReservations } from "@/lib/control/sweep";
import type { Child } from "@/lib/services/child";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import type { TestOrganisation } from "@/lib/testing/factories";
import { TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";

const ROOT = join(import.meta.dirname, "../..");

let bench: TestBench;
let redisUrl: string;
beforeAll(async () => {
  const redis = await startPrivateRedis();
  redisUrl = redis.url;
  bench = await startTestBench(await testDatabaseUrl(), redisUrl);
});
afterAll(() => bench.close());

function bodyOf(latencyMs: number): string {
  const messages = [{ role: "user", content: "hi" }];
  return JSON.stringify({ model: "sandbox-small", max_tokens: 16, messages, sandbox: { latencyMs } });
}

function counter(made: TestOrganisation) {
  return bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
}

async function sumOfLedger(made: TestOrganisation): Promise<bigint> {
  return (await bench.ledger(made.organisationId)).reduce((sum, entry) => sum + entry.amount, 0n);
}

describe("a store that loses everything", () => {
  it("litellm#40050: counters come back as ledger and open holds, once, and nobody is refused for it afterwards", async () => {
    const made = await bench.organisation();
    const gateway = await bench.gateway();
    const call = (latencyMs: number) =>
      gateway.handle(
        new Request("http://gateway.test/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${made.apiKey.secret}` },
          body: bodyOf(latencyMs),
        }),
        { waitUntil: () => undefined },
      );
    await Promise.all(Array.from({ length: 20 }, () => call(0)));
    await bench.book(made.organisationId);
    const flying = Promise.all(Array.from({ length: 5 }, () => call(1500)));
    await expect.poll(async () => (await counter(made)).held > 0n).toBe(true);

    await bench.store.redis.flushall();
    // What this process has cached does not help: nothing is admitted on counters that were not proved.
    expect((await call(0)).status).toBe(503);
    const watch = new FenceWatch();
    await expect
      .poll(
        async () => {
          await gateway.ledger.heartbeat();
          return recoverOrganisation(bench.books, made.organisationId, watch);
        },
        { timeout: 15_000 },
      )
      .toBe("recovered");
    expect((await flying).map((response) => response.status)).toEqual([200, 200, 200, 200, 200]);
    expect((await call(0)).status).toBe(200);
    await expect
      .poll(async () => {
        await gateway.ledger.heartbeat();
        return (await counter(made)).held;
      })
      .toBe(0n);
    await bench.book(made.organisationId);
    expect(await bench.ledger(made.organisationId)).toHaveLength(26);
    expect((await counter(made)).settled).toBe(await sumOfLedger(made));
  }, 60_000);
});

interface Process {
  readonly child: Child;
  readonly url: string;
}

async function startGateway(): Promise<Process> {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const child = startChild({
    name: "gateway",
    command: process.execPath,
    args: ["--import", "tsx", join(ROOT, "workers/gateway-server.ts")],
    cwd: ROOT,
    logFile: join(throwAwayFolder("spillway-gateway"), "gateway.log"),
    env: {
      REDIS_URL: redisUrl,
      SPILLWAY_PORT: String(port),
      SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
      SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      SPILLWAY_LEASE_MS: "5000",
      NODE_ENV: "production",
      LOG_LEVEL: "silent",
      SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
    },
  });
  await expect
    .poll(
      () =>
        request(`${url}/v1/models`).then(
          (answer) => answer.statusCode,
          () => 0,
        ),
      { timeout: 30_000 },
    )
    .toBe(401);
  return { child, url };
}

/** Sends calls until told to stop; counts the answers that were delivered whole. */
async function load(
  url: string,
  made: TestOrganisation,
  calls: number,
  onAnswer: (count: number) => void,
): Promise<number> {
  let sent = 0;
  let delivered = 0;
  const caller = async (): Promise<void> => {
    while (sent < calls) {
      sent += 1;
      const answer = await request(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}` },
        body: bodyOf(20),
      }).then(
        async (response) => ({ status: response.statusCode, text: await response.body.text() }),
        () => undefined,
      );
      if (answer?.status !== 200) continue;
      delivered += 1;
      onAnswer(delivered);
    }
  };
  await Promise.all(Array.from({ length: 20 }, caller));
  return delivered;
}

describe("a gateway that ends under load", () => {
  it("litellm#34805: SIGTERM drops no queued spend: a row for every answer delivered", async () => {
    const made = await bench.organisation();
    const { child, url } = await startGateway();
    const delivered = await load(url, made, 500, (count) => {
      if (count === 250) process.kill(child.pid, "SIGTERM");
    });
    await child.exited;
    expect(delivered).toBeGreaterThanOrEqual(250);
    expect((await counter(made)).held).toBe(0n);
    await bench.book(made.organisationId);
    const entries = await bench.ledger(made.organisationId);
    // An answer that was made but met a closed connection is booked too; none that was delivered is missing.
    expect(entries.length).toBeGreaterThanOrEqual(delivered);
    expect(entries.length).toBeLessThanOrEqual(delivered + 20);
    expect((await counter(made)).settled).toBe(await sumOfLedger(made));
  }, 90_000);

  it("litellm#38157: kill -9 leaves orphan holds, each resolved once", async () => {
    const made = await bench.organisation();
    const { child, url } = await startGateway();
    const delivered = await load(url, made, 500, (count) => {
      if (count === 250) process.kill(child.pid, "SIGKILL");
    });
    await child.exited;
    await expect
      .poll(
        async () => {
          await sweepReservations(bench.books, made.organisationId);
          return (await counter(made)).held;
        },
        { timeout: 20_000 },
      )
      .toBe(0n);
    await bench.book(made.organisationId);
    const entries = await bench.ledger(made.organisationId);
    const orphans = entries.filter((entry) => entry.isEstimated);
    expect(entries.length).toBeGreaterThanOrEqual(delivered);
    // Those under way, and at most a batch of ends that had not left yet.
    expect(orphans.length).toBeLessThanOrEqual(20 + MAX_ENDS);
    expect(new Set(entries.map((entry) => entry.requestId)).size).toBe(entries.length);
    expect((await counter(made)).settled).toBe(await sumOfLedger(made));
    await ensureGeneration(bench.books, made.organisationId);
  }, 90_000);
});
