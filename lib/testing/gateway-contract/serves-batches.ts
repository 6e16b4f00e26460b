/** Files and batches through the official client: owned, checked, held before the provider is asked, paid once by what was finished. */
import type OpenAI from "openai";
import { APIError, toFile } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BatchWorker } from "../batch-worker";
import { createBatchWorker } from "../batch-worker";
import { createConsumer } from "@/lib/control/consumers";
import { createTestKey, testPrincipal } from "../factories";
import { BATCH_MODEL, batchCallerOf, CHAT, contentOf, createBatch, lineText, upload } from "./batch-caller";
import type { GatewayHost } from "./host";
import { settled, upstreamCalls } from "./host";
import type { RouteCaller } from "./route-caller";
import { clientsOf } from "./route-caller";
import { billed, expectBooksAgree } from "./route-models";

/** Half of 2.50 and 10.00 USD per million. */
const [INPUT, OUTPUT] = [1_250n, 5_000n];
const USE = { promptTokens: 100, completionTokens: 20 };
const PER_LINE = 100n * INPUT + 20n * OUTPUT;

async function refusal(
  work: Promise<unknown>,
): Promise<{ status: number | undefined; code: string; message: string; param: string }> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw new Error("it was not refused", { cause: error });
  const { status, code, message, param } = error;
  return { status: status as number | undefined, code: code ?? "", message, param: param ?? "" };
}

export function servesBatches(host: () => GatewayHost): void {
  let caller: RouteCaller;
  let client: OpenAI;
  let worker: BatchWorker;
  beforeAll(async () => {
    caller = await batchCallerOf(host());
    client = caller.openai;
    worker = createBatchWorker(host().bench);
  });
  afterAll(() => worker.close());
  const ended = () => worker.untilEnded(caller.made.organisationId);
  const held = async () => (await settled(host(), caller.made)).held;

  it("upload, create, poll, read: the provider's model and a cap are written into the file, and the books agree to the nano", async () => {
    const file = await upload(client, [
      { id: "a", control: USE },
      { id: "b", control: { ...USE, cachedTokens: 1 }, body: { max_tokens: 30 } },
      { id: "c", control: { error: "rate_limit" } },
    ]);
    expect(file).toMatchObject({ object: "file", purpose: "batch", status: "processed", filename: "in.jsonl" });
    const sent = (await contentOf(client, file.id)) as unknown as { body: Record<string, unknown> }[];
    expect(sent.map(({ body }) => [body.model, body.max_tokens])).toEqual([
      ["sandbox-large", 4096],
      ["sandbox-large", 30],
      ["sandbox-large", 4096],
    ]);
    const batch = await createBatch(client, file.id, { polls: 2, finalizingPolls: 1 });
    const requestId = caller.requestId();
    expect(batch).toMatchObject({ object: "batch", status: "validating", input_file_id: file.id });
    expect(await held()).toBeGreaterThan(PER_LINE * 3n);
    expect((await client.batches.retrieve(batch.id)).status).toBe("in_progress");
    await ended();
    const done = await client.batches.retrieve(batch.id);
    expect(done).toMatchObject({ status: "completed", request_counts: { total: 3, completed: 2, failed: 1 } });
    const output = await contentOf(client, done.output_file_id);
    expect(output.map((line) => [line.custom_id, line.response.status_code])).toEqual([
      ["a", 200],
      ["b", 200],
    ]);
    expect((await contentOf(client, done.error_file_id)).map((line) => line.response.status_code)).toEqual([429]);
    // A cached token is sold at 625 nanos.
    const amount = 2n * PER_LINE - 625n;
    expect(await expectBooksAgree(host(), caller.made, requestId)).toBe(amount);
    expect(await settled(host(), caller.made)).toEqual({ settled: amount, held: 0n });
  });

  it("lists show the caller's own, page by page, newest first, by purpose", async () => {
    const other = await batchCallerOf(host());
    const first = await upload(other.openai, [{ id: "a" }]);
    const notes = await other.openai.files.create({
      purpose: "user_data",
      file: await toFile(Buffer.from("x"), "n.txt"),
    });
    const batch = await createBatch(other.openai, first.id);
    const ids = async (list: AsyncIterable<{ id: string }>) => {
      const found: string[] = [];
      for await (const { id } of list) found.push(id);
      return found;
    };
    expect(await ids(other.openai.files.list({ limit: 1 }))).toEqual([notes.id, first.id]);
    expect(await ids(other.openai.files.list({ order: "asc" }))).toEqual([first.id, notes.id]);
    expect(await ids(other.openai.files.list({ purpose: "batch" }))).toEqual([first.id]);
    expect(await ids(other.openai.batches.list())).toEqual([batch.id]);
    expect(await other.openai.files.delete(notes.id)).toEqual({ id: notes.id, object: "file", deleted: true });
    expect(await ids(other.openai.files.list())).toEqual([first.id]);
    expect((await refusal(other.openai.files.retrieve(notes.id))).status).toBe(404);
    await worker.untilEnded(other.made.organisationId);
  });

  it("ids of another company, another app and another environment are not there, as those that never were", async () => {
    const file = await upload(client, [{ id: "a" }]);
    const batch = await createBatch(client, file.id);
    const { organisationId, consumers } = caller.made;
    const app = { organisationId, parentId: consumers.team, kind: "app" as const, name: "another app" };
    const { consumer } = await createConsumer(host().bench.control, testPrincipal, app);
    const keys = [
      await createTestKey(host().bench.control, organisationId, consumer.id),
      await createTestKey(host().bench.control, organisationId, consumers.app, { environment: "test" }),
    ];
    const strangers = [
      (await batchCallerOf(host())).openai,
      ...keys.map(({ secret }) => clientsOf(host(), { ...caller.made, apiKey: { id: "", secret } }).openai),
    ];
    for (const stranger of strangers) {
      await expect.poll(async () => (await stranger.models.list()).data.length).toBeGreaterThan(0);
      const before = await upstreamCalls(host());
      const refusals = [
        await refusal(stranger.files.retrieve(file.id)),
        await refusal(stranger.files.content(file.id)),
        await refusal(stranger.files.delete(file.id)),
        await refusal(createBatch(stranger, file.id)),
        await refusal(stranger.files.retrieve("file-never")),
      ];
      expect(refusals.map(({ status, code }) => [status, code])).toEqual(refusals.map(() => [404, "object_not_found"]));
      const batches = [
        await refusal(stranger.batches.retrieve(batch.id)),
        await refusal(stranger.batches.cancel(batch.id)),
        await refusal(stranger.batches.retrieve("batch_never")),
      ];
      expect(batches.map(({ status, code }) => [status, code])).toEqual(batches.map(() => [404, "object_not_found"]));
      expect((await stranger.files.list()).data).toEqual([]);
      expect((await stranger.batches.list()).data).toEqual([]);
      expect(await upstreamCalls(host())).toBe(before);
    }
    await ended();
  });

  it("a key with nothing left reaches nobody: neither with a file nor with a batch", async () => {
    const poor = await batchCallerOf(host(), { budgets: { organisation: 2_000_000n }, policy: null });
    const file = await upload(poor.openai, [{ id: "a", body: { max_tokens: 20 } }]);
    // What is left has no room for the batch, but for a chat call that uses it up.
    await poor.openai.chat.completions.create({
      ...{ model: BATCH_MODEL, max_tokens: 100, messages: [{ role: "user", content: "x" }] },
      ...{ sandbox: { promptTokens: 400, completionTokens: 100 } },
    });
    await expect.poll(async () => settled(host(), poor.made)).toEqual({ settled: 2_000_000n, held: 0n });
    const before = await upstreamCalls(host());
    const sent = poor.sent();
    const refused = await refusal(createBatch(poor.openai, file.id));
    expect(poor.sent()).toBe(sent + 1);
    expect(refused).toMatchObject({ status: 429, code: "ORGANIZATION_BUDGET_EXHAUSTED" });
    expect((await refusal(upload(poor.openai, [{ id: "b" }]))).code).toBe("ORGANIZATION_BUDGET_EXHAUSTED");
    expect(await upstreamCalls(host())).toBe(before);
    // What is paid for may still be read.
    expect((await poor.openai.files.retrieve(file.id)).id).toBe(file.id);
  });

  it("what a file can cost is held whole: the second batch that does not fit beside the first is refused", async () => {
    const tight = await batchCallerOf(host(), { budgets: { organisation: 1_000_000n }, policy: null });
    const file = await upload(tight.openai, [
      { id: "a", body: { max_tokens: 60 } },
      { id: "b", body: { max_tokens: 60 } },
    ]);
    await createBatch(tight.openai, file.id, { polls: 1 });
    const before = await upstreamCalls(host());
    expect((await refusal(createBatch(tight.openai, file.id))).code).toBe("ORGANIZATION_BUDGET_EXHAUSTED");
    expect(await upstreamCalls(host())).toBe(before);
    await worker.untilEnded(tight.made.organisationId);
    // 10 prompt and 16 completion tokens a line.
    expect(await settled(host(), tight.made)).toEqual({ settled: 2n * (10n * INPUT + 16n * OUTPUT), held: 0n });
  });

  it("finished lines of cancelled and expired batches are paid for, and nothing of failed ones", async () => {
    const lines = ["a", "b", "c", "d"].map((id) => ({ id, control: USE }));
    const file = await upload(client, lines);
    const before = (await settled(host(), caller.made)).settled;
    const running = await createBatch(client, file.id, { polls: 100, finishedLines: 2 });
    const cancelledId = caller.requestId();
    expect((await client.batches.cancel(running.id)).status).toBe("cancelling");
    await createBatch(client, file.id, { batchEnd: "expired", finishedLines: 3 });
    const expiredId = caller.requestId();
    await createBatch(client, file.id, { batchEnd: "failed" });
    const failedId = caller.requestId();
    await ended();
    expect((await client.batches.retrieve(running.id)).status).toBe("cancelled");
    expect(await expectBooksAgree(host(), caller.made, cancelledId)).toBe(2n * PER_LINE);
    expect(await expectBooksAgree(host(), caller.made, expiredId)).toBe(3n * PER_LINE);
    expect(await billed(host(), failedId)).toBe(0n);
    expect(await settled(host(), caller.made)).toEqual({ settled: before + 5n * PER_LINE, held: 0n });
  });

  it("a file that a batch has written cannot be deleted before its cost is booked", async () => {
    const file = await upload(client, [{ id: "a", control: USE }]);
    const { id } = await createBatch(client, file.id);
    const done = await client.batches.retrieve(id);
    expect(done.status).toBe("completed");
    const output = done.output_file_id ?? "";
    const impatient = client.withOptions({ maxRetries: 0 });
    expect(await refusal(impatient.files.delete(output))).toMatchObject({ status: 409, code: "batch_not_settled" });
    await ended();
    expect((await client.files.delete(output)).deleted).toBe(true);
  });

  it.each([
    ["no JSON", "{", "line 2: it is not JSON"],
    [
      "a name given twice",
      '{"custom_id":"x","custom_id":"y","method":"POST","url":"/v1/chat/completions","body":{}}',
      "line 2: a name occurs twice",
    ],
    ["a custom_id used before", lineText({ id: "first" }), "line 2: custom_id must be unique"],
    [
      "another model",
      lineText({ id: "x", body: { model: "sandbox-small" } }),
      "line 2: all lines of a file must name the same model",
    ],
    [
      "another url",
      lineText({ id: "x", url: "/v1/completions", body: { prompt: "x" } }),
      "line 2: all lines of a file must have the same url",
    ],
    ["a route of no batch", lineText({ id: "x", url: "/v1/audio/speech" }), "line 2: url must be a route"],
    ["a stream", lineText({ id: "x", body: { stream: true } }), "line 2: stream must be false"],
    ["a cap that is none", lineText({ id: "x", body: { max_tokens: -1 } }), "line 2: max_tokens must be"],
    [
      "a tool of the provider's",
      lineText({ id: "x", body: { web_search_options: {} } }),
      "line 2: tools that the provider runs",
    ],
    ["another upstream", lineText({ id: "x", body: { api_base: "http://169.254.169.254/" } }), "line 2: "],
  ])("a file with %s is refused whole, and nobody hears of it", async (_name, line, message) => {
    const before = await upstreamCalls(host());
    const refused = await refusal(upload(client, [{ id: "first" }, line]));
    expect([refused.status, refused.message]).toEqual([400, expect.stringContaining(message)]);
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("models the key may not call, unknown ones and empty files are refused at the upload", async () => {
    const before = await upstreamCalls(host());
    expect((await refusal(upload(client, [{ id: "a", body: { model: "nobody" } }]))).code).toBe("model_not_found");
    expect((await refusal(upload(client, [{ id: "a", body: { model: "sandbox-embed" } }]))).code).toBe(
      "model_not_found",
    );
    expect((await refusal(upload(client, ["\n"]))).message).toContain("the file has no lines");
    const { files } = client;
    const notFor = files.create(
      { purpose: "batch", file: await toFile(Buffer.from(lineText({ id: "a" })), "x") },
      {
        headers: { "x-spillway-max-cost": "0" },
      },
    );
    expect((await refusal(notFor)).code).toBe("max_cost_exceeded");
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("batches of files that are no batch input, of another endpoint or window are refused", async () => {
    const plain = await client.files.create({ purpose: "user_data", file: await toFile(Buffer.from("x"), "n.txt") });
    const good = await upload(client, [{ id: "a" }]);
    const asked = { input_file_id: good.id, endpoint: CHAT, completion_window: "24h" } as const;
    const before = await upstreamCalls(host());
    const refusals = await Promise.all([
      refusal(client.batches.create({ ...asked, input_file_id: plain.id })),
      refusal(client.batches.create({ ...asked, endpoint: "/v1/embeddings" })),
      refusal(client.batches.create({ ...asked, endpoint: "/v1/videos" })),
      refusal(client.batches.create({ ...asked, completion_window: "1h" as "24h" })),
    ]);
    expect(refusals.map(({ status, param }) => [status, param])).toEqual([
      [400, "input_file_id"],
      [400, "endpoint"],
      [400, "endpoint"],
      [400, "completion_window"],
    ]);
    expect(await upstreamCalls(host())).toBe(before);
  });
}
