/** Responses in the background: held until they are over, paid once by what they say they used, and their owner's alone. */
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createConsumer } from "@/lib/control/consumers";
import { JobKeeper } from "@/lib/control/job-keeper";
import type { JobDeps } from "@/lib/control/job-steps";
import { sweepReservations } from "@/lib/control/sweep";
import { restoreRegister, takeOverStored } from "@/lib/control/stored-objects";
import { keysOf } from "@/lib/redis/keys";
import type { BatchWorker } from "@/lib/testing/batch-worker";
import { createBatchWorker } from "@/lib/testing/batch-worker";
import type { TestOrganisation, TestOrganisationOptions } from "@/lib/testing/factories";
import { createTestKey, testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { asking, lastUpstream, settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import { expectBooksAgree } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
let worker: BatchWorker;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
  worker = createBatchWorker(host.bench);
}, 120_000);
afterAll(async () => {
  await worker.close();
  await rig.close();
});
beforeEach(() => {
  worker.aheadMs = 0;
});

const MODEL = "sandbox-large";
const USE = { promptTokens: 100, completionTokens: 20 };
/** 2.50 and 10 USD per million. */
const COST = 100n * 2_500n + 20n * 10_000n;
const ASKED = { model: MODEL, input: "think long", background: true, max_output_tokens: 500 } as const;

interface Company {
  readonly made: TestOrganisation;
  readonly client: OpenAI;
  readonly start: (control?: object, more?: object) => Promise<{ id: string; requestId: string; status: unknown }>;
}

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: host.baseURL, apiKey, fetch: host.fetch, maxRetries: 0 });
}

async function company(options: TestOrganisationOptions = {}): Promise<Company> {
  const made = await host.bench.organisation(options);
  const client = clientOf(made.apiKey.secret);
  return {
    made,
    client,
    start: async (control = {}, more = {}) => {
      const body = { ...ASKED, ...asking({ ...USE, ...control }), ...more };
      const { data, response } = await client.responses.create(body).withResponse();
      return { id: data.id, status: data.status, requestId: response.headers.get("x-request-id") ?? "" };
    },
  };
}

async function refusal(work: Promise<unknown>): Promise<APIError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw new Error("it was not refused", { cause: error });
  return error;
}

describe("a response in the background", () => {
  it("is held while it runs, told as the provider tells it, and paid once by its usage", async () => {
    const { made, client, start } = await company();
    const { id, status, requestId } = await start({ polls: 3 });
    expect(status).toBe("queued");
    expect(JSON.parse((await lastUpstream(host)).body)).toMatchObject({ background: true, max_output_tokens: 500 });
    const { held } = await settled(host, made);
    expect(held).toBeGreaterThan(COST);
    expect((await client.responses.retrieve(id)).status).toBe("in_progress");
    await worker.round(made.organisationId);
    expect(await settled(host, made)).toEqual({ settled: 0n, held });
    await worker.untilEnded(made.organisationId);
    const done = await client.responses.retrieve(id);
    expect([done.status, done.usage?.total_tokens]).toEqual(["completed", 120]);
    expect(done.output_text.length).toBeGreaterThan(0);
    expect(await expectBooksAgree(host, made, requestId)).toBe(COST);
    expect(await settled(host, made)).toEqual({ settled: COST, held: 0n });
    expect(await host.bench.ledger(made.organisationId)).toHaveLength(1);
    // It may be continued like any other.
    const next = await client.responses.create({ model: MODEL, input: "and?", previous_response_id: id });
    expect(next.previous_response_id).toBe(id);
  });

  it("nothing of what it says is written down", async () => {
    const { made, start } = await company();
    await start({}, { instructions: "a-canary-in-the-mine" });
    await worker.untilEnded(made.organisationId);
    const { pool } = host.bench.books.db;
    const of = [made.organisationId];
    const jobs = await pool.query("SELECT * FROM provider_batches WHERE organisation_id = $1", of);
    const objects = await pool.query("SELECT * FROM stored_objects WHERE organisation_id = $1", of);
    expect([jobs.rowCount, objects.rowCount]).toEqual([1, 1]);
    const written = JSON.stringify([jobs.rows, objects.rows]);
    expect(written).not.toContain("canary");
    expect(written).not.toMatch(/output_text|"instructions"|"output":/u);
  });

  it("that is incomplete is paid by its usage, one that has failed or was cancelled by what can be told, until the bill says", async () => {
    const { made, client, start } = await company();
    const short = await start({}, { max_output_tokens: 16 });
    const failed = await start({ fault: "failed_response" });
    const cancelled = await start({ polls: 4 });
    expect((await client.responses.cancel(cancelled.id)).status).toBe("cancelled");
    // Once more changes nothing.
    expect((await client.responses.cancel(cancelled.id)).status).toBe("cancelled");
    await worker.untilEnded(made.organisationId);
    expect((await client.responses.retrieve(short.id)).status).toBe("incomplete");
    expect(await expectBooksAgree(host, made, short.requestId)).toBe(100n * 2_500n + 16n * 10_000n);
    const entries = new Map((await host.bench.ledger(made.organisationId)).map((line) => [line.requestId, line]));
    expect(entries.get(failed.requestId)).toMatchObject({ outcome: "upstream_error", isEstimated: true });
    expect(entries.get(cancelled.requestId)).toMatchObject({ outcome: "aborted", isEstimated: true });
    expect(entries.size).toBe(3);
    expect((await settled(host, made)).held).toBe(0n);
  });

  it("is nobody else's: read, cancelled or deleted by others it is not there, and nobody is asked", async () => {
    const { made, client, start } = await company();
    const { id } = await start({ polls: 100 });
    const { organisationId, consumers } = made;
    const { control } = host.bench;
    const app = { organisationId, parentId: consumers.team, kind: "app" as const, name: "another app" };
    const { consumer } = await createConsumer(control, testPrincipal, app);
    const keys = [
      await createTestKey(control, organisationId, consumer.id),
      await createTestKey(control, organisationId, consumers.app, { environment: "test" }),
    ];
    const strangers = [...keys.map(({ secret }) => clientOf(secret)), (await company()).client];
    for (const stranger of strangers) {
      await expect.poll(async () => (await stranger.models.list()).data.length).toBeGreaterThan(0);
      const before = await upstreamCalls(host);
      const refusals = [
        await refusal(stranger.responses.retrieve(id)),
        await refusal(stranger.responses.retrieve(id, { stream: true })),
        await refusal(stranger.responses.inputItems.list(id)),
        await refusal(stranger.responses.cancel(id)),
        await refusal(stranger.responses.delete(id)),
        await refusal(stranger.responses.retrieve("resp_never")),
      ];
      expect(refusals.map(({ status, code }) => [status, code])).toEqual(refusals.map(() => [404, "object_not_found"]));
      expect(await upstreamCalls(host)).toBe(before);
    }
    await client.responses.cancel(id);
    await worker.untilEnded(organisationId);
  });

  it("is not deleted before its cost is booked", async () => {
    const { made, client, start } = await company();
    const { id } = await start();
    expect(await refusal(client.responses.delete(id))).toMatchObject({ status: 409, code: "response_not_settled" });
    await worker.untilEnded(made.organisationId);
    await client.responses.delete(id);
    expect((await refusal(client.responses.retrieve(id))).status).toBe(404);
  });

  it("reaches nobody where nothing is left, and where the provider refuses it nothing is held", async () => {
    const poor = await company({ budgets: { organisation: 1_000n }, policy: null });
    const before = await upstreamCalls(host);
    expect(await refusal(poor.start())).toMatchObject({ status: 429, code: "ORGANIZATION_BUDGET_EXHAUSTED" });
    expect(await upstreamCalls(host)).toBe(before);
    const { made, start } = await company();
    // The provider keeps nothing of it, and so refuses to work in the background.
    expect((await refusal(start({}, { store: false }))).status).toBe(400);
    expect((await refusal(start({ error: "overloaded" }))).status).toBe(503);
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
    await worker.untilEnded(made.organisationId);
    expect(await host.bench.ledger(made.organisationId)).toEqual([]);
  });

  it("under an Idempotency-Key is made once", async () => {
    const { made, client } = await company();
    const named = { headers: { "Idempotency-Key": "think-once" } };
    const body = { ...ASKED, ...asking(USE) };
    await client.responses.create(body, named);
    const before = await upstreamCalls(host);
    // The organisation keeps no texts: the second call is told so, and is not run.
    expect((await refusal(client.responses.create(body, named))).status).toBe(409);
    expect(await upstreamCalls(host)).toBe(before);
    await worker.untilEnded(made.organisationId);
    expect(await settled(host, made)).toEqual({ settled: COST, held: 0n });
  });

  it("is listened to as a stream, and paid once whoever listens, and for how long", async () => {
    const { made, client } = await company();
    const body = { ...ASKED, ...asking(USE), stream: true } as const;
    const { data: stream, response } = await client.responses.create(body).withResponse();
    const requestId = response.headers.get("x-request-id") ?? "";
    const types: string[] = [];
    let id = "";
    for await (const event of stream) {
      types.push(event.type);
      if (event.type !== "response.created") continue;
      ({ id } = event.response);
      // It is there as soon as anybody has heard of it.
      expect((await client.responses.retrieve(id)).id).toBe(id);
    }
    expect(types.at(-1)).toBe("response.completed");
    const left = await client.responses.create(body).withResponse();
    for await (const _event of left.data) break;
    await worker.untilEnded(made.organisationId);
    for (const one of [requestId, left.response.headers.get("x-request-id") ?? ""]) {
      expect(await expectBooksAgree(host, made, one)).toBe(COST);
    }
    // Listened to once more, from where somebody left it.
    const again: string[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 1 })) {
      again.push(event.type);
    }
    expect(again).toEqual(types.slice(2));
    expect((await client.responses.retrieve(id)).status).toBe("completed");
    expect(await settled(host, made)).toEqual({ settled: 2n * COST, held: 0n });
  });
});

describe("whatever dies", () => {
  /** As far as Redis can tell this gateway was killed. */
  async function killedWhile(at: "asking" | "after", { made }: Company): Promise<void> {
    const own = await host.bench.gateway();
    const body = { ...ASKED, ...asking({ ...USE, latencyMs: at === "asking" ? 300 : 0 }) };
    const request = new Request("http://gateway.test/api/v1/responses", {
      method: "POST",
      headers: { authorization: `Bearer ${made.apiKey.secret}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const before = await upstreamCalls(host);
    const answer = own.handle(request, { waitUntil: () => undefined });
    if (at === "asking") await expect.poll(() => upstreamCalls(host)).toBe(before + 1);
    else await answer;
    own.connection.redis.disconnect();
    await answer;
  }

  it("a gateway after its answer: the hold stands for the worker, however late it comes, and is paid once", async () => {
    const one = await company();
    const { organisationId } = one.made;
    await killedWhile("after", one);
    expect((await settled(host, one.made)).held).toBeGreaterThan(COST);
    expect(await sweepReservations(host.bench.books, organisationId, { nowMs: Date.now() + 600_000 })).toBe(0);
    await worker.untilEnded(organisationId);
    expect(await settled(host, one.made)).toEqual({ settled: COST, held: 0n });
  });

  it("a gateway while the provider is asked: nobody knows the response, so its hold is booked, estimated, until the bill says", async () => {
    const one = await company();
    const { organisationId } = one.made;
    await killedWhile("asking", one);
    const { held } = await settled(host, one.made);
    await worker.round(organisationId);
    expect(await settled(host, one.made)).toEqual({ settled: 0n, held });
    worker.aheadMs += 300_000;
    await worker.untilEnded(organisationId);
    expect(await settled(host, one.made)).toEqual({ settled: held, held: 0n });
    expect(await host.bench.ledger(organisationId)).toMatchObject([{ outcome: "unknown", isEstimated: true }]);
  });

  it("word of a call that came to nothing: its hold is given back all the same, and nothing is booked", async () => {
    const { made, start } = await company();
    const { organisationId } = made;
    const { redis } = host.bench.store;
    const notes = keysOf(organisationId).storedNotes;
    const failing = refusal(start({ status: 500, latencyMs: 300 }));
    await expect.poll(() => redis.xlen(notes)).toBe(1);
    await takeOverStored(worker.deps, organisationId);
    expect((await failing).status).toBe(502);
    expect(await redis.xlen(notes)).toBe(1);
    await redis.del(notes);
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
    worker.aheadMs += 300_000;
    await worker.untilEnded(organisationId);
    expect(await host.bench.ledger(organisationId)).toEqual([]);
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
  });

  it("a worker while it books: another one ends it, once", async () => {
    const { made, start } = await company();
    const { organisationId } = made;
    const { requestId } = await start();
    class DyingKeeper extends JobKeeper {
      override async end(...job: Parameters<JobKeeper["end"]>): Promise<void> {
        await super.end(...job);
        throw new Error("killed before it could write anything down");
      }
    }
    const dying: JobDeps = { ...worker.deps, keeper: new DyingKeeper(host.bench.store, worker.deps.clock) };
    await worker.round(organisationId, dying);
    worker.aheadMs += 61_000;
    await worker.untilEnded(organisationId);
    expect(await expectBooksAgree(host, made, requestId)).toBe(COST);
    expect(await host.bench.ledger(organisationId)).toHaveLength(1);
  });

  it("Redis: it is told again whose the response is", async () => {
    const { made, client, start } = await company();
    const { organisationId } = made;
    const { id } = await start({ polls: 50 });
    await takeOverStored(worker.deps, organisationId);
    const keys = keysOf(organisationId);
    await host.bench.store.redis.del(keys.stored, keys.storedGeneration);
    await restoreRegister(worker.deps, organisationId);
    expect((await client.responses.retrieve(id)).id).toBe(id);
    await client.responses.cancel(id);
    await worker.untilEnded(organisationId);
  });
});

it("what runs for more than a day is ended at the provider, so that no hold stands for ever", async () => {
  const { made, client, start } = await company();
  const { id } = await start({ polls: 1_000 });
  await worker.round(made.organisationId);
  worker.aheadMs += 25 * 3_600_000;
  await worker.untilEnded(made.organisationId);
  expect((await client.responses.retrieve(id)).status).toBe("cancelled");
  const { held, settled: booked } = await settled(host, made);
  expect(held).toBe(0n);
  expect(booked).toBeGreaterThan(0n);
});
