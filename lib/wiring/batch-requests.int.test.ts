/** What a batch counts for, that a creation which is tried again makes nothing twice, and that only own files and answers may be named. */
import OpenAI, { APIError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudget } from "@/lib/control/budgets";
import { createConsumer } from "@/lib/control/consumers";
import { pruneRecords } from "@/lib/control/prune";
import { sweepReservations } from "@/lib/control/sweep";
import type { BatchWorker } from "@/lib/testing/batch-worker";
import { createBatchWorker } from "@/lib/testing/batch-worker";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, testPrincipal } from "@/lib/testing/factories";
import type { Line } from "@/lib/testing/gateway-contract/batch-caller";
import { batchCallerOf, BATCH_MODEL, CHAT, createBatch, upload } from "@/lib/testing/gateway-contract/batch-caller";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
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

const LINES: readonly Line[] = [{ id: "a" }, { id: "b" }, { id: "c", control: { error: "rate_limit" } }];
const NAMED = { headers: { "Idempotency-Key": "batch-of-the-night" } };

interface Company {
  readonly made: TestOrganisation;
  readonly client: OpenAI;
}

async function company(): Promise<Company> {
  const { made, openai } = await batchCallerOf(host);
  return { made, client: openai.withOptions({ maxRetries: 0 }) };
}

async function refusal(work: Promise<unknown>): Promise<APIError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw new Error("it was not refused", { cause: error });
  return error;
}

async function addQuota({ organisationId, consumers }: TestOrganisation, requests: number): Promise<string> {
  const { budget } = await createBudget(host.bench.control, testPrincipal, {
    ...{ organisationId, consumerId: consumers.root, apiKeyId: null, name: "requests", meter: "requests" },
    ...{ periodKind: "month", limitAmount: String(requests), overflowAmount: "0", enforcement: "enforce" },
    ...{ ladder: null, environment: null, models: [], classes: [] },
  });
  return budget.id;
}

describe("a quota of requests", () => {
  it("holds every line of a batch, and is charged with those that were served", async () => {
    const { made, client } = await company();
    const quota = await addQuota(made, 5);
    const counted = () => host.bench.counter(made.organisationId, quota);
    const file = await upload(client, LINES);
    await createBatch(client, file.id, { polls: 1 });
    expect(await counted()).toEqual({ settled: 0n, held: 3n });
    const before = await upstreamCalls(host);
    expect(await refusal(createBatch(client, file.id))).toMatchObject({
      status: 429,
      code: "ORGANIZATION_QUOTA_EXHAUSTED",
    });
    expect(await upstreamCalls(host)).toBe(before);
    await worker.untilEnded(made.organisationId);
    expect(await counted()).toEqual({ settled: 2n, held: 0n });
    // A quota that begins in mid-period starts from what the ledger holds.
    const { pool } = host.bench.books.db;
    const openings = await pool.query<{ opening: string }>(
      "SELECT opening_amount::text AS opening FROM budgets WHERE id = $1",
      [await addQuota(made, 9)],
    );
    expect(openings.rows).toEqual([{ opening: "2" }]);
    const { rows } = await pool.query<{ requests: string }>(
      "SELECT sum(requests)::text AS requests FROM usage_rollups WHERE organisation_id = $1",
      [made.organisationId],
    );
    expect(rows).toEqual([{ requests: "2" }]);
  });

  it("is charged with every line of a batch of which nobody can say what it used", async () => {
    const { made, client } = await company();
    const quota = await addQuota(made, 5);
    const file = await upload(client, LINES);
    await createBatch(client, file.id, { polls: 100 });
    const far = Date.now() + 7 * 86_400_000;
    expect(await sweepReservations(host.bench.books, made.organisationId, { nowMs: far })).toBe(1);
    await host.bench.book(made.organisationId);
    expect(await host.bench.counter(made.organisationId, quota)).toEqual({ settled: 3n, held: 0n });
  });
});

describe("a creation with an Idempotency-Key", () => {
  it("that is tried again gets the batch that was made, without a second one at the provider nor a second hold", async () => {
    const { made, client } = await company();
    const file = await upload(client, LINES);
    const asked = { input_file_id: file.id, endpoint: CHAT, completion_window: "24h" } as const;
    const first = await client.batches.create(asked, NAMED);
    const { held } = await settled(host, made);
    const before = await upstreamCalls(host);
    const again = await client.batches.create(asked, NAMED).withResponse();
    expect(again.data).toEqual(first);
    expect(again.response.headers.get("x-spillway-replayed")).toBe("true");
    expect(await upstreamCalls(host)).toBe(before);
    expect((await settled(host, made)).held).toBe(held);
    // Also after the file that it was made of is gone.
    await client.files.delete(file.id);
    expect((await client.batches.create(asked, NAMED)).id).toBe(first.id);
    const other = client.batches.create({ ...asked, metadata: { other: "yes" } }, NAMED);
    expect((await refusal(other)).status).toBe(422);
    await worker.untilEnded(made.organisationId);
  });

  it("that came to nothing may be tried again", async () => {
    const { made, client } = await company();
    const file = await upload(client, LINES);
    const asked = { input_file_id: file.id, endpoint: CHAT, completion_window: "24h" } as const;
    const metadata = { sandbox: JSON.stringify({ status: 500 }) };
    expect((await refusal(client.batches.create({ ...asked, metadata }, NAMED))).status).toBe(502);
    expect((await refusal(client.batches.create({ ...asked, metadata }, NAMED))).status).toBe(502);
    expect(await settled(host, made)).toEqual({ settled: 0n, held: 0n });
    expect((await refusal(client.batches.create({ ...asked, input_file_id: "file-none" }, NAMED))).status).toBe(404);
    expect((await client.batches.create(asked, NAMED)).object).toBe("batch");
    await worker.untilEnded(made.organisationId);
  });

  it("whose provider was asked and has not answered stays taken: nobody knows that nothing was made", async () => {
    const { made, client } = await company();
    const file = await upload(client, LINES);
    const asked = { input_file_id: file.id, endpoint: CHAT, completion_window: "24h" } as const;
    const metadata = { sandbox: JSON.stringify({ fault: "close_socket" }) };
    const first = await refusal(client.batches.create({ ...asked, metadata }, NAMED));
    expect(first.status).toBeGreaterThanOrEqual(500);
    const { held } = await settled(host, made);
    const again = await refusal(client.batches.create({ ...asked, metadata }, NAMED));
    expect(again).toMatchObject({ status: 409, code: "idempotency_not_kept" });
    expect((await settled(host, made)).held).toBe(held);
  });

  it("uploads a file once", async () => {
    const { client } = await company();
    const send = async (text: string) =>
      client.files.create({ purpose: "user_data", file: await toFile(Buffer.from(text), "n.txt") }, NAMED);
    const first = await send("one");
    const before = await upstreamCalls(host);
    expect((await send("one")).id).toBe(first.id);
    expect((await refusal(send("two"))).status).toBe(422);
    expect(await upstreamCalls(host)).toBe(before);
    expect((await client.files.list()).data.map(({ id }) => id)).toEqual([first.id]);
  });
});

describe("a file that a body names", () => {
  const model = "sandbox-large";
  const callsWith = (client: OpenAI, fileId: string): readonly (() => Promise<unknown>)[] => [
    () =>
      client.chat.completions.create({
        ...{ model, max_tokens: 5 },
        messages: [{ role: "user", content: [{ type: "file", file: { file_id: fileId } }] }],
      }),
    () =>
      client.responses.create({
        ...{ model, max_output_tokens: 16 },
        input: [{ role: "user", content: [{ type: "input_file", file_id: fileId }] }],
      }),
    () =>
      client.responses.create({
        ...{ model, max_output_tokens: 16 },
        input: [{ role: "user", content: [{ type: "input_image", detail: "auto", file_id: fileId }] }],
      }),
    () =>
      upload(client, [
        { id: "x", body: { messages: [{ role: "user", content: [{ type: "file", file: { file_id: fileId } }] }] } },
      ]),
  ];

  it("is its owner's: for everybody else it is not there, and nobody is asked", async () => {
    const { made, client } = await company();
    const file = await client.files.create({
      purpose: "user_data",
      file: await toFile(Buffer.from("secret"), "s.txt"),
    });
    for (const call of callsWith(client, file.id)) await call();
    const { organisationId, consumers } = made;
    const { consumer } = await createConsumer(host.bench.control, testPrincipal, {
      ...{ organisationId, parentId: consumers.team, kind: "app" as const, name: "another app" },
    });
    const { secret } = await createTestKey(host.bench.control, organisationId, consumer.id);
    const sibling = new OpenAI({ baseURL: host.baseURL, apiKey: secret, fetch: host.fetch, maxRetries: 0 });
    await expect.poll(async () => (await sibling.models.list()).data.length).toBeGreaterThan(0);
    for (const stranger of [sibling, (await company()).client]) {
      const before = await upstreamCalls(host);
      for (const call of callsWith(stranger, file.id)) {
        expect(await refusal(call())).toMatchObject({ status: 404, code: "object_not_found", param: "file_id" });
      }
      expect(await upstreamCalls(host)).toBe(before);
    }
  });

  it("is found also where its name is written with escapes, and words of the caller's own are no names of files", async () => {
    const { made, client } = await company();
    const ask = (body: string) =>
      host.fetch(`${host.baseURL}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}`, "content-type": "application/json" },
        body,
      });
    const hidden = `{"model":"${model}","max_tokens":5,"messages":[{"role":"user","content":[{"type":"file","file":{"file\\u005fid":"file-x"}}]}]}`;
    expect((await ask(hidden)).status).toBe(404);
    const parameters = { type: "object", properties: { file_id: { type: "string" } }, required: ["file_id"] };
    const answer = await client.chat.completions.create({
      ...{ model, max_tokens: 5, metadata: { file_id: "mine" } },
      messages: [{ role: "user", content: 'what is a "file_id"?' }],
      tools: [{ type: "function", function: { name: "open", parameters } }],
    });
    expect(answer.object).toBe("chat.completion");
  });
});

it("a batch line that continues an answer of somebody else's, or a conversation, is refused", async () => {
  const { made, client } = await company();
  const answer = await client.responses.create({ model: BATCH_MODEL, input: "hi", max_output_tokens: 16 });
  const lineWith = (more: object) => [
    { id: "x", url: "/v1/responses", body: { messages: undefined, input: "and?", max_output_tokens: 16, ...more } },
  ];
  expect((await upload(client, lineWith({ previous_response_id: answer.id }))).status).toBe("processed");
  const stranger = (await company()).client;
  const before = await upstreamCalls(host);
  const foreign = await refusal(upload(stranger, lineWith({ previous_response_id: answer.id })));
  expect([foreign.status, foreign.message]).toEqual([400, expect.stringContaining("line 1: no such answer is kept")]);
  const conversation = await refusal(upload(client, lineWith({ conversation: "conv_1" })));
  expect(conversation.message).toContain("line 1: conversations kept by the provider");
  expect(await upstreamCalls(host)).toBe(before);
  await worker.untilEnded(made.organisationId);
});

it("a quarter after its end nothing is kept of a batch but its cost; what runs, and files that still can be used, stay", async () => {
  const { made, client } = await company();
  const file = await upload(client, LINES);
  const ended = await createBatch(client, file.id);
  await worker.untilEnded(made.organisationId);
  const running = await createBatch(client, file.id, { polls: 1_000 });
  await worker.round(made.organisationId);
  const { pool } = host.bench.books.db;
  const long = new Date(Date.now() - 100 * 86_400_000);
  const of = [long, made.organisationId];
  await pool.query("UPDATE stored_objects SET created_at = $1 WHERE organisation_id = $2", of);
  await pool.query("UPDATE provider_batches SET created_at = $1 WHERE organisation_id = $2", of);
  await pool.query("UPDATE provider_batches SET ended_at = $1 WHERE organisation_id = $2 AND ended_at IS NOT NULL", of);
  const { storedObjects, providerJobs } = await pruneRecords(host.bench.books);
  // The batch, its output and its error file.
  expect([storedObjects, providerJobs]).toEqual([3, 1]);
  expect((await refusal(client.batches.retrieve(ended.id))).status).toBe(404);
  expect((await client.batches.list()).data.map(({ id }) => id)).toEqual([running.id]);
  expect((await client.files.list()).data.map(({ id }) => id)).toEqual([file.id]);
  expect(await host.bench.ledger(made.organisationId)).toHaveLength(1);
  await client.batches.cancel(running.id);
  await worker.untilEnded(made.organisationId);
});
