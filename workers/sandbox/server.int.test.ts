import { randomUUID } from "node:crypto";
import OpenAI, { AuthenticationError, NotFoundError, RateLimitError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODELS } from "./prices";
import { type Sandbox, startSandbox } from "./server";
import { billLine, tagged } from "./testing/client";

let sandbox: Sandbox;
let client: OpenAI;

beforeAll(async () => {
  sandbox = await startSandbox({ recordRequests: true });
  client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
});
afterAll(() => sandbox.close());

const messages = [{ role: "user" as const, content: "Say something." }];

describe("the official client", () => {
  it("chats, and is billed what it was told", async () => {
    const tag = randomUUID();
    const answer = await client.chat.completions.create({ model: "sandbox-large", messages }, tagged(tag));
    expect(answer.choices[0]?.message.content?.split(" ")).toHaveLength(16);
    expect(answer.choices[0]?.finish_reason).toBe("stop");
    expect(answer.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 16, total_tokens: 26 });
    expect(await billLine(sandbox, tag)).toMatchObject({
      key: expect.stringMatching(/^1234:[0-9a-f]{12}$/),
      model: "sandbox-large",
      promptTokens: 10,
      completionTokens: 16,
      amountNanos: String(10 * 2_500 + 16 * 10_000),
      aborted: false,
      stream: false,
    });
  });

  it("gets what its cap and its choices allow, and says so", async () => {
    const control = { completionTokens: 50, reasoningTokens: 3, cachedTokens: 4, promptTokens: 18 };
    const answer = await client.chat.completions.create(
      { model: "sandbox-small", messages, n: 3, max_completion_tokens: 5, max_tokens: 1_000 },
      tagged(randomUUID(), control),
    );
    const visible = answer.choices.map((choice) => choice.message.content?.split(" ").length);
    expect(visible).toEqual([4, 4, 4]);
    expect(answer.choices.map((choice) => choice.finish_reason)).toEqual(["length", "length", "length"]);
    expect(answer.usage).toMatchObject({
      prompt_tokens: 18,
      completion_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });

  it("is controlled through metadata where headers do not pass", async () => {
    const metadata = { sandbox: '{"completionTokens":2}' };
    const answer = await client.chat.completions.create({ model: "sandbox-small", messages, metadata });
    expect(answer.choices[0]?.message.content).toBe("w0 w1");
  });

  it("streams with a usage chunk before the end when asked, null before it", async () => {
    const tag = randomUUID();
    const stream = await client.chat.completions.create(
      { model: "sandbox-medium", messages, n: 2, stream: true, stream_options: { include_usage: true } },
      tagged(tag, { completionTokens: 9, tokensPerChunk: 2 }),
    );
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const last = chunks.pop();
    expect(last?.choices).toEqual([]);
    expect(last?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 9 });
    expect(chunks.every((chunk) => chunk.usage === null)).toBe(true);
    const textOf = (index: number) =>
      chunks.flatMap((chunk) => chunk.choices.filter((c) => c.index === index).map((c) => c.delta.content ?? ""));
    expect(textOf(0).join("")).toBe("w0 w1 w2 w3 w4");
    expect(textOf(1).join("")).toBe("w0 w1 w2 w3");
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 9, stream: true, aborted: false });
  });

  it("streams without any usage when it did not ask", async () => {
    const stream = await client.chat.completions.create({
      model: "sandbox-small",
      messages,
      stream: true,
      max_tokens: 3,
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.every((chunk) => !("usage" in chunk) && chunk.choices.length === 1)).toBe(true);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
  });

  it("embeds text, lists and token ids, as numbers or base64", async () => {
    const tag = randomUUID();
    const model = "sandbox-embed";
    const base64 = await client.embeddings.create({ model, input: "blue water" }, tagged(tag));
    const floats = await client.embeddings.create({ model, input: "blue water", encoding_format: "float" });
    expect(base64.data[0]?.embedding).toHaveLength(256);
    base64.data[0]?.embedding.forEach((value, at) => expect(value).toBeCloseTo(floats.data[0]?.embedding[at] ?? 9, 6));
    const many = await client.embeddings.create({ model, input: [[1, 2, 3], [4]], dimensions: 8 });
    expect(many.data.map((item) => item.embedding.length)).toEqual([8, 8]);
    expect(many.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    expect(await billLine(sandbox, tag)).toMatchObject({ model, promptTokens: 3, amountNanos: "60" });
  });

  it("places texts that share words closer than texts that do not", async () => {
    const input = ["What is the refund policy?", "what is the policy for a refund", "Zebras graze at dawn"];
    const { data } = await client.embeddings.create({ model: "sandbox-embed", input });
    const cosine = (a: number, b: number) =>
      (data[a]?.embedding ?? []).reduce((sum, value, at) => sum + value * (data[b]?.embedding[at] ?? 0), 0);
    expect(cosine(0, 0)).toBeCloseTo(1, 5);
    expect(cosine(0, 1)).toBeGreaterThan(cosine(0, 2) + 0.3);
  });

  it("lists models and knows each by name", async () => {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(names).toEqual(MODELS.map((model) => model.id));
    expect(names.slice(0, 4)).toEqual(["sandbox-large", "sandbox-medium", "sandbox-small", "sandbox-embed"]);
    expect((await client.models.retrieve("sandbox-large")).object).toBe("model");
    await expect(client.models.retrieve("gpt-none")).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.chat.completions.create({ model: "gpt-none", messages })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  it("is refused without a sandbox key", async () => {
    const stranger = new OpenAI({ apiKey: "sk-else", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
    await expect(stranger.chat.completions.create({ model: "sandbox-small", messages })).rejects.toBeInstanceOf(
      AuthenticationError,
    );
    const bare = await fetch(`${sandbox.url}/v1/chat/completions`, { method: "POST", body: "{}" });
    expect(bare.status).toBe(401);
    expect(await bare.json()).toMatchObject({ error: { type: "invalid_request_error", param: null } });
  });

  it("fails with the asked status and Retry-After, unbilled unless billed anyway", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const control = { status: 429, errorCode: "slow_down", errorType: "rate_limit_error", retryAfter: 7 };
    const error: unknown = await client.chat.completions
      .create({ model: "sandbox-small", messages }, tagged(tags[0], control))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: "slow_down", type: "rate_limit_error" });
    expect((error as RateLimitError).headers.get("retry-after")).toBe("7");
    await client.chat.completions
      .create({ model: "sandbox-small", messages }, tagged(tags[1], { status: 500, billAnyway: true }))
      .catch(() => undefined);
    expect(await billLine(sandbox, tags[0])).toBeUndefined();
    expect(await billLine(sandbox, tags[1])).toMatchObject({ completionTokens: 16, aborted: false });
  });
});

describe("requests that make no sense", () => {
  it.each([
    ["broken JSON", "{", 400],
    ["a list", "[]", 400],
    ["no messages", '{"model":"sandbox-small","messages":[]}', 400],
    ["a cap of zero", '{"model":"sandbox-small","messages":[{}],"max_tokens":0}', 400],
    ["a control with a typo", '{"model":"sandbox-small","messages":[{}],"sandbox":{"faultt":"hang"}}', 400],
    ["a model that does not chat", '{"model":"sandbox-embed","messages":[{}]}', 404],
  ])("are refused and not billed: %s", async (_name, body, status) => {
    const tag = randomUUID();
    const answer = await fetch(`${sandbox.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer sandbox-key-1234", "x-spillway-request": tag },
      body,
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) } });
    expect(await billLine(sandbox, tag)).toBeUndefined();
  });
});

describe("the books", () => {
  it("never show a key, and keep requests only when asked to", async () => {
    const calls = await (await fetch(`${sandbox.url}/calls`)).text();
    const bill = await (await fetch(`${sandbox.url}/bill`)).text();
    expect(calls + bill).not.toContain("sandbox-key-1234");
    expect(JSON.parse(calls)).toMatchObject({ activeCalls: 0, requests: expect.any(Array) });
    const quiet = await startSandbox();
    expect(await (await fetch(`${quiet.url}/calls`)).json()).not.toHaveProperty("requests");
    expect((await fetch(`${quiet.url}/bill/reset`, { method: "POST" })).status).toBe(404);
    expect(await (await fetch(`${quiet.url}/health`)).json()).toEqual({ status: "ok" });
    await quiet.close();
  });

  it("are emptied only where that is allowed", async () => {
    const mine = await startSandbox({ allowReset: true });
    const own = new OpenAI({ apiKey: "sandbox-x", baseURL: `${mine.url}/v1`, maxRetries: 0 });
    await own.chat.completions.create({ model: "sandbox-small", messages });
    expect(await (await fetch(`${mine.url}/bill?limit=5`)).json()).toMatchObject({ nextSequence: 1, hasMore: false });
    await fetch(`${mine.url}/bill/reset`, { method: "POST" });
    expect(await (await fetch(`${mine.url}/bill/totals`)).json()).toEqual({ currency: "USD", totals: {} });
    await mine.close();
  });
});
