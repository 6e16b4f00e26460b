import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxControl } from "../control-fields";
import { type Sandbox, startSandbox } from "../server";
import { type BillLine, billLines, tagged } from "../testing/client";

let sandbox: Sandbox;
let client: OpenAI;
beforeAll(async () => {
  sandbox = await startSandbox();
  client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
});
afterAll(() => sandbox.close());

const CHAT = "/v1/chat/completions";
const messages = [{ role: "user", content: "Say something." }];

function lineOf(id: string, body: object, url = CHAT): string {
  return JSON.stringify({ custom_id: id, method: "POST", url, body });
}

async function upload(lines: readonly string[]): Promise<OpenAI.FileObject> {
  return client.files.create({ purpose: "batch", file: await toFile(Buffer.from(lines.join("\n")), "in.jsonl") });
}

async function start(lines: readonly string[], tag: string, control: SandboxControl = {}): Promise<OpenAI.Batch> {
  const { id } = await upload(lines);
  const asked = { input_file_id: id, endpoint: CHAT, completion_window: "24h" } as const;
  return client.batches.create(asked, tagged(tag, control));
}

async function content(
  fileId: string | undefined,
): Promise<{ custom_id: string; response: { status_code: number; body: object } }[]> {
  const text = await (await client.files.content(fileId ?? "")).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const amountOf = (lines: readonly BillLine[]) => lines.reduce((sum, line) => sum + BigInt(line.amountNanos), 0n);

describe("files", () => {
  it("are kept, listed page by page, read back byte for byte, and deleted", async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 128]);
    const made = await client.files.create({ purpose: "user_data", file: await toFile(bytes, "x.bin") });
    expect(made).toMatchObject({
      object: "file",
      bytes: 7,
      filename: "x.bin",
      purpose: "user_data",
      status: "processed",
    });
    await upload(["{}"]);
    const names = [];
    for await (const file of client.files.list({ purpose: "user_data", limit: 1 })) names.push(file.id);
    expect(names).toEqual([made.id]);
    const every = [];
    for await (const file of client.files.list({ limit: 1 })) every.push(file.id);
    expect(every).toHaveLength(2);
    expect(await client.files.retrieve(made.id)).toEqual(made);
    expect(Buffer.from(await (await client.files.content(made.id)).arrayBuffer())).toEqual(bytes);
    expect(await client.files.delete(made.id)).toEqual({ id: made.id, object: "file", deleted: true });
    await expect(client.files.retrieve(made.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("of many megabytes arrive whole, sent with a length or in chunks", async () => {
    const part = Buffer.alloc(1024 * 1024, 7);
    const parts = Array.from({ length: 48 }, () => part);
    const made = await client.files.create({
      purpose: "user_data",
      file: await toFile(Buffer.concat(parts), "big.bin"),
    });
    expect(made.bytes).toBe(48 * 1024 * 1024);
    const head = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="c.bin"\r\n\r\n`;
    const body = Readable.from([Buffer.from(head), ...parts, Buffer.from("\r\n--b--\r\n")]);
    const headers = { authorization: "Bearer sandbox-key-1234", "content-type": "multipart/form-data; boundary=b" };
    const init = { method: "POST", headers, body, duplex: "half" } as unknown as RequestInit;
    const answer = await fetch(`${sandbox.url}/v1/files`, init);
    expect(await answer.json()).toMatchObject({ bytes: 48 * 1024 * 1024 });
  });
});

describe("batches", () => {
  it("go from validating through in_progress to completed, and bill each finished line at half price", async () => {
    const tag = randomUUID();
    const control = { promptTokens: 101, cachedTokens: 1, completionTokens: 7 };
    const lines = [
      lineOf("a", { model: "sandbox-small", messages, sandbox: control }),
      lineOf("b", { model: "sandbox-large", messages }),
      lineOf("c", { model: "sandbox-none", messages }),
      lineOf("d", { model: "sandbox-small", messages, sandbox: { error: "rate_limit" } }),
    ];
    const batch = await start(lines, tag, { polls: 1 });
    expect(batch).toMatchObject({ object: "batch", status: "validating", request_counts: { total: 4, completed: 0 } });
    expect((await client.batches.retrieve(batch.id)).status).toBe("in_progress");
    expect(await billLines(sandbox, tag)).toEqual([]);
    const done = await client.batches.retrieve(batch.id);
    expect(done).toMatchObject({
      status: "completed",
      request_counts: { total: 4, completed: 2, failed: 2 },
      usage: { input_tokens: 111, output_tokens: 23, total_tokens: 134, input_tokens_details: { cached_tokens: 1 } },
    });
    const output = await content(done.output_file_id);
    expect(output.map((line) => [line.custom_id, line.response.status_code])).toEqual([
      ["a", 200],
      ["b", 200],
    ]);
    expect(output[0]?.response.body).toMatchObject({ object: "chat.completion", usage: { prompt_tokens: 101 } });
    const errors = await content(done.error_file_id);
    expect(errors.map((line) => [line.custom_id, line.response.status_code])).toEqual([
      ["c", 404],
      ["d", 429],
    ]);
    const billed = await billLines(sandbox, tag);
    // 100 x 75 + 1 x 37.5 + 7 x 300 is half a nano over, which goes to the even neighbour.
    expect(billed.map((line) => line.amountNanos)).toEqual(["9638", String((10 * 2_500 + 16 * 10_000) / 2)]);
    expect(billed).toMatchObject([{ extras: { serviceTier: "batch" } }, { model: "sandbox-large" }]);
    await client.batches.retrieve(batch.id);
    expect(await billLines(sandbox, tag)).toHaveLength(2);
    const listed = [];
    for await (const each of client.batches.list({ limit: 1 })) listed.push(each.id);
    expect(listed).toContain(batch.id);
  });

  it("are answered before their files are written, and may lose them", async () => {
    const tag = randomUUID();
    const lines = [lineOf("a", { model: "sandbox-small", messages })];
    const { id } = await start(lines, tag, { finalizingPolls: 1, loseOutput: true });
    expect(await client.batches.retrieve(id)).toMatchObject({
      ...{ status: "finalizing", output_file_id: null, finalizing_at: expect.any(Number) },
      request_counts: { total: 1, completed: 1, failed: 0 },
    });
    expect(await billLines(sandbox, tag)).toHaveLength(1);
    const done = await client.batches.retrieve(id);
    expect(done).toMatchObject({
      status: "completed",
      in_progress_at: expect.any(Number),
      usage: { input_tokens: 10 },
    });
    await expect(content(done.output_file_id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await billLines(sandbox, tag)).toHaveLength(1);
  });

  it("that the provider refuses to make do not run", async () => {
    const { id } = await upload([lineOf("a", { model: "sandbox-small", messages })]);
    const asked = { input_file_id: id, endpoint: CHAT, completion_window: "24h" } as const;
    await expect(client.batches.create(asked, tagged(randomUUID(), { status: 500 }))).rejects.toMatchObject({
      status: 500,
    });
    expect((await client.batches.list()).data.filter((one) => one.input_file_id === id)).toEqual([]);
  });

  it("that are cancelled or expire bill the lines that were done", async () => {
    const lines = Array.from({ length: 5 }, (_, index) => lineOf(String(index), { model: "sandbox-large", messages }));
    const tags = [randomUUID(), randomUUID()] as const;
    const running = await start(lines, tags[0], { polls: 9, finishedLines: 2 });
    await client.batches.retrieve(running.id);
    expect((await client.batches.cancel(running.id)).status).toBe("cancelling");
    expect(await client.batches.retrieve(running.id)).toMatchObject({
      status: "cancelled",
      request_counts: { completed: 2 },
    });
    const late = await start(lines, tags[1], { batchEnd: "expired", finishedLines: 3 });
    const expired = await client.batches.retrieve(late.id);
    expect(expired.status).toBe("expired");
    expect(await content(expired.output_file_id)).toHaveLength(3);
    const perLine = BigInt((10 * 2_500 + 16 * 10_000) / 2);
    expect(amountOf(await billLines(sandbox, tags[0]))).toBe(2n * perLine);
    expect(amountOf(await billLines(sandbox, tags[1]))).toBe(3n * perLine);
  });

  it.each([
    ["no JSON", ["{"], "invalid_json_line", 1],
    ["another endpoint", [lineOf("a", {}), lineOf("b", {}, "/v1/embeddings")], "mismatched_endpoint", 2],
    ["a name given twice", [lineOf("a", {}), lineOf("a", {})], "duplicate_custom_id", 2],
    ["no name", ['{"method":"POST"}'], "missing_required_parameter", 1],
  ])("fail, unbilled, over a file with %s", async (_name, lines, code, line) => {
    const tag = randomUUID();
    const { id } = await start(lines, tag);
    expect(await client.batches.retrieve(id)).toMatchObject({ status: "failed", errors: { data: [{ code, line }] } });
    expect(await billLines(sandbox, tag)).toEqual([]);
  });

  it("are refused over a file that is not there, and cannot be cancelled once they ended", async () => {
    const asked = { input_file_id: "file-none", endpoint: CHAT, completion_window: "24h" } as const;
    await expect(client.batches.create(asked)).rejects.toBeInstanceOf(NotFoundError);
    const missing = { ...asked, input_file_id: undefined as unknown as string };
    await expect(client.batches.create(missing)).rejects.toBeInstanceOf(BadRequestError);
    const { id } = await start([lineOf("a", { model: "sandbox-small", messages })], randomUUID());
    await client.batches.retrieve(id);
    await expect(client.batches.cancel(id)).rejects.toMatchObject({ status: 409 });
  });
});
