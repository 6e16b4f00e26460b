/** A batch outlives the processes that made it and look after it: whatever dies, it is paid once, and one that never ran is free. */
import { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { JobKeeper } from "@/lib/control/job-keeper";
import type { JobDeps } from "@/lib/control/job-steps";
import { keepJobs, workJobs } from "@/lib/control/provider-jobs";
import { restoreRegister, takeOverStored } from "@/lib/control/stored-objects";
import { sweepReservations } from "@/lib/control/sweep";
import { keysOf } from "@/lib/redis/keys";
import type { BatchWorker } from "@/lib/testing/batch-worker";
import { createBatchWorker } from "@/lib/testing/batch-worker";
import { BATCH_MODEL, batchCallerOf, createBatch, upload } from "@/lib/testing/gateway-contract/batch-caller";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import type { RouteCaller } from "@/lib/testing/gateway-contract/route-caller";
import { expectBooksAgree } from "@/lib/testing/gateway-contract/route-models";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { RunningGateway } from "./gateway";

let bench: TestBench;
let gateway: RunningGateway;
let host: GatewayHost;
let worker: BatchWorker;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  gateway = await bench.gateway();
  host = {
    ...{ bench, baseURL: "http://gateway.test/api/v1" },
    fetch: async (input, init) => gateway.handle(new Request(input, init), { waitUntil: () => undefined }),
    close: () => bench.close(),
  };
  worker = createBatchWorker(bench);
});
afterAll(async () => {
  await worker.close();
  await bench.close();
});

beforeEach(() => {
  worker.aheadMs = 0;
});

const USE = { promptTokens: 100, completionTokens: 20 };
const COST = 100n * 1_250n + 20n * 5_000n;

interface Batches {
  readonly caller: RouteCaller;
  readonly organisationId: string;
  readonly fileId: string;
  readonly start: (control?: Record<string, unknown>) => Promise<{ id: string; requestId: string }>;
  readonly held: () => Promise<bigint>;
  readonly agree: (requestId: string, options?: { isEstimated?: boolean }) => Promise<bigint>;
}

async function company(): Promise<Batches> {
  const caller = await batchCallerOf(host);
  const client = caller.openai.withOptions({ maxRetries: 0 });
  const { id: fileId } = await upload(client, [{ id: "a", control: USE }]);
  return {
    ...{ caller, fileId, organisationId: caller.made.organisationId },
    start: async (control = {}) => {
      const { id } = await createBatch(client, fileId, control);
      return { id, requestId: caller.requestId() };
    },
    held: async () => (await settled(host, caller.made)).held,
    agree: (requestId, options) => expectBooksAgree(host, caller.made, requestId, options),
  };
}

/** A gateway process of its own, whose connection to Redis ends in the middle of a call: as far as Redis can tell it was killed. */
async function killedWhile(
  { caller, fileId }: Batches,
  at: "asking the provider" | "after the answer",
  control: Record<string, unknown> = {},
): Promise<void> {
  const own = await bench.gateway();
  const request = new Request("http://gateway.test/api/v1/batches", {
    method: "POST",
    headers: { authorization: `Bearer ${caller.made.apiKey.secret}` },
    body: JSON.stringify({
      ...{ input_file_id: fileId, endpoint: "/v1/chat/completions", completion_window: "24h" },
      metadata: { sandbox: JSON.stringify({ latencyMs: at === "asking the provider" ? 300 : 0, ...control }) },
    }),
  });
  const before = await upstreamCalls(host);
  const answer = own.handle(request, { waitUntil: () => undefined });
  if (at === "asking the provider") await expect.poll(() => upstreamCalls(host)).toBe(before + 1);
  else await answer;
  own.connection.redis.disconnect();
  await answer;
}

async function states(organisationId: string): Promise<string[]> {
  const { rows } = await bench.control.db.pool.query<{ state: string }>(
    "SELECT state FROM provider_batches WHERE organisation_id = $1 ORDER BY created_at",
    [organisationId],
  );
  return rows.map(({ state }) => state);
}

describe("a gateway that is killed", () => {
  it("after it answered loses nothing: the hold stands for the worker, however late it comes, and is paid once", async () => {
    const batches = await company();
    await killedWhile(batches, "after the answer", { polls: 1 });
    const held = await batches.held();
    expect(held).toBeGreaterThan(COST);
    // Long after the lease of a gateway's call the sweeper finds nothing due.
    expect(await sweepReservations(bench.books, batches.organisationId, { nowMs: Date.now() + 600_000 })).toBe(0);
    await worker.untilEnded(batches.organisationId);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: COST, held: 0n });
    const [entry, ...more] = await bench.ledger(batches.organisationId);
    expect([entry?.amount, entry?.isEstimated, more.length]).toEqual([COST, false, 0]);
  });

  it("while the provider made the batch leaves it to the worker, which finds it by its file and gives it to its owner", async () => {
    const batches = await company();
    await killedWhile(batches, "asking the provider");
    const { openai } = batches.caller;
    expect((await openai.batches.list()).data).toEqual([]);
    await worker.round(batches.organisationId);
    expect(await states(batches.organisationId)).toEqual(["creating"]);
    worker.aheadMs += 300_000;
    await worker.untilEnded(batches.organisationId);
    const [found] = (await openai.batches.list()).data;
    expect(found).toMatchObject({ input_file_id: batches.fileId, status: "completed" });
    expect(await settled(host, batches.caller.made)).toEqual({ settled: COST, held: 0n });
  });

  it("before the provider heard of the batch leaves no debt", async () => {
    const batches = await company();
    await killedWhile(batches, "asking the provider", { status: 500 });
    worker.aheadMs += 600_000;
    await worker.untilEnded(batches.organisationId);
    expect(await states(batches.organisationId)).toEqual(["void"]);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: 0n, held: 0n });
    expect(await bench.ledger(batches.organisationId)).toEqual([]);
  });
});

describe("a worker that is killed", () => {
  /** One that dies where it is told to, once. */
  function dying(at: "reading" | "booking"): JobDeps {
    const { deps } = worker;
    const keeper = new JobKeeper(bench.store, deps.clock);
    const provider: JobDeps["provider"] = {
      ...deps.provider,
      file: async (facts, id) => {
        if (at === "reading") throw new Error("killed while it read");
        return deps.provider.file(facts, id);
      },
    };
    if (at === "booking") {
      vi.spyOn(keeper, "end").mockImplementation(async (batch) => {
        await worker.deps.keeper.end(batch);
        throw new Error("killed before it could write anything down");
      });
    }
    return { ...deps, keeper, provider };
  }

  it.each(["reading", "booking"] as const)(
    "while %s is followed by another, and the batch is paid once",
    async (at) => {
      const batches = await company();
      const { requestId } = await batches.start();
      await worker.round(batches.organisationId, dying(at));
      worker.aheadMs += 61_000;
      await worker.round(batches.organisationId, dying(at));
      await worker.untilEnded(batches.organisationId);
      expect(await batches.agree(requestId)).toBe(COST);
      expect(await settled(host, batches.caller.made)).toEqual({ settled: COST, held: 0n });
      expect(await bench.ledger(batches.organisationId)).toHaveLength(1);
    },
  );

  it("beside others changes nothing: several look after the same batches at once", async () => {
    const batches = await company();
    const ids = await Promise.all([batches.start(), batches.start({ polls: 2 }), batches.start({ polls: 1 })]);
    const others = [worker, createBatchWorker(bench), createBatchWorker(bench)];
    await takeOverStored(worker.deps, batches.organisationId);
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(others.map(({ deps }) => keepJobs(deps)));
      await Promise.all(others.map(({ deps }) => workJobs(deps)));
      await bench.book(batches.organisationId);
      for (const other of others) other.aheadMs += 61_000;
    }
    expect(await states(batches.organisationId)).toEqual(["settled", "settled", "settled"]);
    for (const { requestId } of ids) expect(await batches.agree(requestId)).toBe(COST);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: 3n * COST, held: 0n });
    await Promise.all(others.slice(1).map((other) => other.close()));
  });

  it("for so long that the hold ran out: what was booked at the hold is corrected to what was used", async () => {
    const batches = await company();
    const { requestId } = await batches.start({ polls: 1 });
    await worker.round(batches.organisationId);
    const held = await batches.held();
    expect(await sweepReservations(bench.books, batches.organisationId, { nowMs: Date.now() + 7 * 86_400_000 })).toBe(
      1,
    );
    await bench.book(batches.organisationId);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: held, held: 0n });
    await worker.untilEnded(batches.organisationId);
    await bench.book(batches.organisationId);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: COST, held: 0n });
    const lines = (await bench.ledger(batches.organisationId)).filter((line) => line.requestId === requestId);
    expect(lines.reduce((sum, { amount }) => sum + amount, 0n)).toBe(COST);
  });
});

describe("a Redis that lost its data", () => {
  it("is told whose the files and batches are", async () => {
    const batches = await company();
    const { id } = await batches.start({ polls: 3 });
    const { organisationId } = batches;
    await takeOverStored(worker.deps, organisationId);
    await restoreRegister(worker.deps, organisationId);
    const keys = keysOf(organisationId);
    const { app } = batches.caller.made.consumers;
    await bench.store.redis.del(keys.stored, keys.storedGeneration, keys.storedIndex("file", "production", app));
    await bench.store.redis.del(keys.storedIndex("batch", "production", app));
    expect((await batches.caller.openai.files.list()).data).toEqual([]);
    expect(await restoreRegister(worker.deps, organisationId)).toBe(2);
    expect((await batches.caller.openai.files.list()).data.map((file) => file.id)).toEqual([batches.fileId]);
    expect((await batches.caller.openai.batches.retrieve(id)).id).toBe(id);
    await worker.untilEnded(organisationId);
  });
});

describe("a provider that is out of order", () => {
  it("whose output is gone is paid by what the batch says of itself, as an estimate", async () => {
    const batches = await company();
    const { requestId } = await batches.start({ loseOutput: true });
    await worker.untilEnded(batches.organisationId);
    expect(await batches.agree(requestId, { isEstimated: true })).toBe(COST);
  });

  it("that does not know the batch any more is believed only after it was asked often, and then the hold is booked", async () => {
    const batches = await company();
    await batches.start();
    const held = await batches.held();
    const ignorant: JobDeps = {
      ...worker.deps,
      provider: { ...worker.deps.provider, batch: () => Promise.resolve(undefined) },
    };
    for (let round = 0; round < 9; round += 1) {
      await worker.round(batches.organisationId, ignorant);
      worker.aheadMs += 400_000;
    }
    expect(await states(batches.organisationId)).toEqual(["running"]);
    await worker.round(batches.organisationId, ignorant);
    await worker.untilEnded(batches.organisationId);
    expect(await settled(host, batches.caller.made)).toEqual({ settled: held, held: 0n });
    expect((await bench.ledger(batches.organisationId))[0]).toMatchObject({ isEstimated: true, outcome: "unknown" });
  });
});

it("a file of many megabytes is checked and sent on with little memory", async () => {
  const { caller } = await company();
  const pad = "x".repeat(64 * 1024);
  const body = { model: BATCH_MODEL, max_tokens: 5, messages: [{ role: "user", content: pad }] };
  const lines = Array.from({ length: 800 }, (_, index) =>
    JSON.stringify({ custom_id: String(index), method: "POST", url: "/v1/chat/completions", body }),
  );
  const bytes = Buffer.from(lines.join("\n"));
  const file = await caller.openai.files.create({ purpose: "batch", file: await toFile(bytes, "big.jsonl") });
  // The provider's name of the model is one letter shorter, and the last line is ended.
  expect(file.bytes).toBe(bytes.length + 1 + 800 * ("sandbox-large".length - BATCH_MODEL.length));
});
