/**
 * The store away, emptied or without its snapshot: calls of budgets that are only counted pass and are booked afterwards, calls of
 * enforced ones are refused at once, and nobody is told that his key does not exist.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateBudget } from "@/lib/control/budgets";
import { FenceWatch, recoverOrganisation } from "@/lib/control/recovery";
import { drainChanges } from "@/lib/control/snapshots";
import { keysOf } from "@/lib/redis/keys";
import type { Child } from "@/lib/services/child";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import type { RunningRedis } from "@/lib/services/redis";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, TEST_MASTER_KEY, TEST_PEPPER, testPrincipal } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl } from "@/lib/testing/services";
import type { GatewaySettings, RunningGateway } from "./gateway";

const ROOT = join(import.meta.dirname, "../..");
const BODY = JSON.stringify({ model: "sandbox-small", max_tokens: 16, messages: [{ role: "user", content: "hi" }] });

let bench: TestBench;
let redis: RunningRedis;
const dataDir = throwAwayFolder("spillway-redis");
beforeAll(async () => {
  redis = await startRedis({ dataDir, appendonly: true });
  bench = await startTestBench(await testDatabaseUrl(), redis.url);
});
afterAll(async () => {
  await bench.close();
  await redis.stop();
});

async function startAgain(): Promise<void> {
  redis = await startRedis({ dataDir, appendonly: true, port: redis.port });
  await expect.poll(() => bench.store.runId(), { timeout: 10_000 }).toBeDefined();
}

/** An organisation whose one budget is only counted, unless it is said to be enforced. */
async function organisation(enforcement: "enforce" | "warn" = "warn"): Promise<TestOrganisation> {
  const made = await bench.organisation();
  const budget = made.budgets.organisation;
  if (enforcement === "warn" && budget) {
    const { organisationId } = made;
    const expectedVersion = budget.limitVersion.toString();
    await updateBudget(bench.control, testPrincipal, {
      organisationId,
      budgetId: budget.id,
      expectedVersion,
      enforcement,
    });
  }
  return made;
}

function journal(maxBytes = 1_000_000): NonNullable<GatewaySettings["journal"]> {
  return { folder: join(throwAwayFolder("spillway-data"), "journal"), maxBytes };
}

async function call(gateway: RunningGateway, secret: string): Promise<string> {
  const response = await gateway.handle(
    new Request("http://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}` },
      body: BODY,
    }),
    { waitUntil: () => undefined },
  );
  const { error } = (await response.json()) as { error?: { code: string } };
  return error ? `${String(response.status)} ${error.code}` : String(response.status);
}

/** Brings every gateway and the organisation back, as heartbeats and the worker do. */
async function heal(made: TestOrganisation, gateways: readonly RunningGateway[]): Promise<void> {
  const watch = new FenceWatch();
  const step = async () => {
    for (const gateway of gateways) await gateway.ledger.heartbeat();
    return recoverOrganisation(bench.books, made.organisationId, watch).catch(() => "away");
  };
  await expect.poll(step, { timeout: 20_000 }).toMatch(/^(recovered|sound)$/u);
  for (const gateway of gateways) {
    await expect
      .poll(
        async () => {
          await gateway.ledger.heartbeat();
          const { open, undelivered } = gateway.ledger.counts();
          return open + undelivered;
        },
        { timeout: 10_000 },
      )
      .toBe(0);
  }
}

/** Entries, their sum, and what the budget's counter holds. */
async function books(made: TestOrganisation) {
  await bench.book(made.organisationId);
  const entries = await bench.ledger(made.organisationId);
  const sum = entries.reduce((total, entry) => total + entry.amount, 0n);
  const { settled, held } = await bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
  return {
    entries: entries.length,
    estimated: entries.filter((entry) => entry.isEstimated).length,
    sum,
    settled,
    held,
  };
}

describe("a store that is away", () => {
  it("lets calls of soft budgets pass, refuses those of hard ones, and has each that passed booked once", async () => {
    const [soft, hard] = [await organisation("warn"), await organisation("enforce")];
    const gateway = await bench.gateway({ journal: journal() });
    for (const made of [soft, hard]) expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await redis.stop();
    for (let count = 0; count < 5; count += 1) expect(await call(gateway, soft.apiKey.secret)).toBe("200");
    expect(await call(gateway, hard.apiKey.secret)).toBe("503 quota_store_unavailable");
    await startAgain();
    await heal(soft, [gateway]);
    await heal(hard, [gateway]);
    for (const [made, entries] of [
      [soft, 6],
      [hard, 1],
    ] as const) {
      const booked = await books(made);
      expect(booked).toMatchObject({ entries, estimated: 0, settled: booked.sum, held: 0n });
    }
    expect(await call(gateway, hard.apiKey.secret)).toBe("200");
  }, 60_000);

  it("refuses calls of soft budgets, too, once the journal has no room, and books those before", async () => {
    const made = await organisation();
    const gateway = await bench.gateway({ journal: journal(10_000) });
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await redis.stop();
    const answers: string[] = [];
    for (let count = 0; count < 20; count += 1) answers.push(await call(gateway, made.apiKey.secret));
    const passed = answers.filter((answer) => answer === "200").length;
    expect(passed).toBeGreaterThan(1);
    expect(answers.slice(passed)).toEqual(Array.from({ length: 20 - passed }, () => "503 quota_store_unavailable"));
    await startAgain();
    await heal(made, [gateway]);
    const booked = await books(made);
    expect(booked).toMatchObject({ entries: passed + 1, estimated: 0, settled: booked.sum, held: 0n });
  }, 60_000);

  it("lets nothing pass where there is no journal", async () => {
    const made = await organisation();
    const gateway = await bench.gateway();
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await redis.stop();
    expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
    await startAgain();
    await heal(made, [gateway]);
  }, 60_000);

  it("takes what a process has left that was killed meanwhile, each call once, one in mid-answer at its hold", async () => {
    const made = await organisation();
    const settings = journal();
    const { child, url } = await startGateway(settings.folder);
    const post = (latencyMs: number) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}` },
        body: JSON.stringify({ ...(JSON.parse(BODY) as object), sandbox: { latencyMs } }),
      }).then(
        (response) => response.status,
        () => 0,
      );
    expect(await post(0)).toBe(200);
    await redis.stop();
    const flying = post(60_000);
    for (let count = 0; count < 4; count += 1) expect(await post(0)).toBe(200);
    process.kill(child.pid, "SIGKILL");
    await child.exited;
    expect(await flying).toBe(0);
    await startAgain();
    // Two processes of the same folder come after it.
    const heirs = [await bench.gateway({ journal: settings }), await bench.gateway({ journal: settings })];
    const left = async () => {
      await heal(made, heirs);
      return (await books(made)).entries;
    };
    await expect.poll(left, { timeout: 30_000, interval: 500 }).toBe(6);
    const booked = await books(made);
    expect(booked).toMatchObject({ entries: 6, estimated: 1, settled: booked.sum, held: 0n });
  }, 90_000);
});

describe("a store that lost its data", () => {
  it("is no reason to take a key for unknown, neither one that was seen before nor another", async () => {
    const made = await organisation("enforce");
    const gateway = await bench.gateway();
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    const { secret } = await createTestKey(bench.control, made.organisationId, made.consumers.app);
    await bench.store.redis.flushall();
    for (let count = 0; count < 3; count += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(gateway, secret)).toBe("503 quota_store_unavailable");
      await gateway.ledger.heartbeat();
    }
    await heal(made, [gateway]);
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    expect(await call(gateway, secret)).toBe("200");
  }, 60_000);

  it("heals when it loses them again, although every gateway had announced to this very server", async () => {
    const made = await organisation("enforce");
    const gateway = await bench.gateway();
    for (let loss = 0; loss < 3; loss += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("200");
      await expect.poll(async () => (await books(made)).entries).toBe(loss + 1);
      await bench.store.redis.flushall();
      await heal(made, [gateway]);
    }
    const booked = await books(made);
    expect(booked).toMatchObject({ entries: 3, settled: booked.sum, held: 0n });
  }, 60_000);

  it("refuses without its snapshot, also at a process that never saw it, until it is published again", async () => {
    const [made, soft] = [await organisation("enforce"), await organisation("warn")];
    const gateway = await bench.gateway({ journal: journal() });
    for (const one of [made, soft]) expect(await call(gateway, one.apiKey.secret)).toBe("200");
    for (const { organisationId } of [made, soft]) {
      const { epoch, snapshot, apiKeys, changes } = keysOf(organisationId);
      await bench.store.redis.del(epoch, snapshot, apiKeys, changes);
    }
    const stranger = await bench.gateway();
    for (let count = 0; count < 3; count += 1) {
      expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(stranger, made.apiKey.secret)).toBe("503 quota_store_unavailable");
      expect(await call(gateway, soft.apiKey.secret)).toBe("200");
      await gateway.ledger.heartbeat();
    }
    await drainChanges(bench.control);
    await expect.poll(() => call(stranger, made.apiKey.secret)).toBe("200");
    await expect.poll(() => call(gateway, made.apiKey.secret)).toBe("200");
    await heal(soft, [gateway]);
    const booked = await books(soft);
    expect(booked).toMatchObject({ entries: 4, estimated: 0, settled: booked.sum, held: 0n });
  }, 60_000);
});

describe("usage that no worker books", () => {
  it("past its bound is noted on disk for soft budgets and refused for hard ones, and booked when there is room", async () => {
    const [soft, hard] = [await organisation("warn"), await organisation("enforce")];
    const gateway = await bench.gateway({ journal: journal(), maxWaiting: 3 });
    for (const made of [soft, hard]) {
      for (let count = 0; count < 4; count += 1) expect(await call(gateway, made.apiKey.secret)).toBe("200");
    }
    await expect.poll(() => bench.store.redis.xlen(keysOf(soft.organisationId).usage)).toBe(4);
    await gateway.ledger.heartbeat();
    expect(await call(gateway, hard.apiKey.secret)).toBe("503 quota_store_unavailable");
    for (let count = 0; count < 3; count += 1) expect(await call(gateway, soft.apiKey.secret)).toBe("200");
    await gateway.ledger.heartbeat();
    expect(await bench.store.redis.xlen(keysOf(soft.organisationId).usage)).toBe(4);
    for (const [made, entries] of [
      [soft, 7],
      [hard, 4],
    ] as const) {
      await bench.book(made.organisationId);
      await heal(made, [gateway]);
      const booked = await books(made);
      expect(booked).toMatchObject({ entries, estimated: 0, settled: booked.sum, held: 0n });
    }
    expect(await call(gateway, hard.apiKey.secret)).toBe("200");
  }, 60_000);
});

async function startGateway(folder: string): Promise<{ readonly child: Child; readonly url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const child = startChild({
    name: "gateway",
    command: process.execPath,
    args: ["--import", "tsx", join(ROOT, "workers/gateway-server.ts")],
    cwd: ROOT,
    logFile: join(throwAwayFolder("spillway-gateway"), "gateway.log"),
    env: {
      REDIS_URL: redis.url,
      SPILLWAY_PORT: String(port),
      SPILLWAY_DATA_DIR: join(folder, ".."),
      SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
      SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      NODE_ENV: "production",
      LOG_LEVEL: "silent",
      SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
    },
  });
  const status = () =>
    fetch(`${url}/v1/models`).then(
      (response) => response.status,
      () => 0,
    );
  await expect.poll(status, { timeout: 30_000 }).toBe(401);
  return { child, url };
}
