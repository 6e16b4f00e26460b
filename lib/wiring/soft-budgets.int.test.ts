/**
 * The store away, or spared because too much waits in it: calls of budgets that are only counted pass and are booked afterwards, calls
 * of enforced ones are refused at once.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keysOf } from "@/lib/redis/keys";
import type { Child } from "@/lib/services/child";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import type { StoreRig } from "@/lib/testing/store-rig";
import { call, chatRequest, journal, startStoreRig } from "@/lib/testing/store-rig";

const ROOT = join(import.meta.dirname, "../..");

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStoreRig();
});
afterAll(() => rig.close());

describe("a store that is away", () => {
  it("lets calls of soft budgets pass, refuses those of hard ones, and has each that passed booked once", async () => {
    const [soft, hard] = [await rig.organisation("warn"), await rig.organisation("enforce")];
    const gateway = await rig.bench.gateway({ journal: journal() });
    for (const made of [soft, hard]) expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await rig.stopStore();
    for (let count = 0; count < 5; count += 1) expect(await call(gateway, soft.apiKey.secret)).toBe("200");
    expect(await call(gateway, hard.apiKey.secret)).toBe("503 quota_store_unavailable");
    await rig.startStore();
    await rig.heal([soft, hard], [gateway]);
    for (const [made, entries] of [
      [soft, 6],
      [hard, 1],
    ] as const) {
      const booked = await rig.books(made);
      expect(booked).toMatchObject({ entries, estimated: 0, settled: booked.sum, held: 0n });
    }
    expect(await call(gateway, hard.apiKey.secret)).toBe("200");
  }, 60_000);

  it("refuses calls of soft budgets, too, once the journal has no room, and books those before", async () => {
    const made = await rig.organisation();
    const gateway = await rig.bench.gateway({ journal: journal(10_000) });
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await rig.stopStore();
    const answers: string[] = [];
    for (let count = 0; count < 20; count += 1) answers.push(await call(gateway, made.apiKey.secret));
    const passed = answers.filter((answer) => answer === "200").length;
    expect(passed).toBeGreaterThan(1);
    expect(answers.slice(passed)).toEqual(Array.from({ length: 20 - passed }, () => "503 quota_store_unavailable"));
    await rig.startStore();
    await rig.heal([made], [gateway]);
    const booked = await rig.books(made);
    expect(booked).toMatchObject({ entries: passed + 1, estimated: 0, settled: booked.sum, held: 0n });
  }, 60_000);

  it("lets nothing pass where there is no journal", async () => {
    const made = await rig.organisation();
    const gateway = await rig.bench.gateway();
    expect(await call(gateway, made.apiKey.secret)).toBe("200");
    await rig.stopStore();
    expect(await call(gateway, made.apiKey.secret)).toBe("503 quota_store_unavailable");
    await rig.startStore();
    await rig.heal([made], [gateway]);
  }, 60_000);

  it("takes what a process has left that was killed meanwhile, each call once, one in mid-answer at its hold", async () => {
    const made = await rig.organisation();
    const settings = journal();
    const { child, url } = await startGateway(settings.folder);
    const post = async (latencyMs: number) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}` },
        body: await chatRequest(made.apiKey.secret, { sandbox: { latencyMs } }).text(),
      }).then(
        (response) => response.status,
        () => 0,
      );
    expect(await post(0)).toBe(200);
    await rig.stopStore();
    const flying = post(60_000);
    for (let count = 0; count < 4; count += 1) expect(await post(0)).toBe(200);
    process.kill(child.pid, "SIGKILL");
    await child.exited;
    expect(await flying).toBe(0);
    await rig.startStore();
    // Two processes of the same folder come after it.
    const heirs = [await rig.bench.gateway({ journal: settings }), await rig.bench.gateway({ journal: settings })];
    const left = async () => {
      await rig.heal([made], heirs);
      return (await rig.books(made)).entries;
    };
    await expect.poll(left, { timeout: 30_000, interval: 500 }).toBe(6);
    const booked = await rig.books(made);
    expect(booked).toMatchObject({ entries: 6, estimated: 1, settled: booked.sum, held: 0n });
  }, 90_000);
});

describe("usage that no worker books", () => {
  it("past its bound is noted on disk for soft budgets and refused for hard ones, and booked when there is room", async () => {
    const [soft, hard] = [await rig.organisation("warn"), await rig.organisation("enforce")];
    const gateway = await rig.bench.gateway({ journal: journal(), maxWaiting: 3 });
    for (const made of [soft, hard]) {
      for (let count = 0; count < 4; count += 1) expect(await call(gateway, made.apiKey.secret)).toBe("200");
    }
    await expect.poll(() => rig.bench.store.redis.xlen(keysOf(soft.organisationId).usage)).toBe(4);
    await gateway.ledger.heartbeat();
    expect(await call(gateway, hard.apiKey.secret)).toBe("503 quota_store_unavailable");
    for (let count = 0; count < 3; count += 1) expect(await call(gateway, soft.apiKey.secret)).toBe("200");
    await gateway.ledger.heartbeat();
    expect(await rig.bench.store.redis.xlen(keysOf(soft.organisationId).usage)).toBe(4);
    for (const [made, entries] of [
      [soft, 7],
      [hard, 4],
    ] as const) {
      await rig.bench.book(made.organisationId);
      await rig.heal([made], [gateway]);
      const booked = await rig.books(made);
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
      REDIS_URL: rig.redisUrl,
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
