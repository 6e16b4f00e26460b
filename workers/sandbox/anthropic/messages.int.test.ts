import { randomUUID } from "node:crypto";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic, { APIError, BadRequestError, NotFoundError } from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxControl } from "../control-fields";
import { type Sandbox, startSandbox } from "../server";
import { billLine, tagged } from "../testing/client";

let sandbox: Sandbox;
let client: Anthropic;
beforeAll(async () => {
  sandbox = await startSandbox();
  client = new Anthropic({ apiKey: "sandbox-key-1234", baseURL: sandbox.url, maxRetries: 0 });
});
afterAll(() => sandbox.close());

const ASKED = {
  model: "sandbox-claude-large",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Say something." }],
};
const TOOLS: Anthropic.Tool[] = [{ name: "look_up", input_schema: { type: "object", properties: {} } }];
const CACHED: SandboxControl = {
  promptTokens: 18_120,
  cachedTokens: 15_000,
  cacheWriteTokens: 2_000,
  cacheWrite1hTokens: 1_000,
  completionTokens: 25,
  searches: 3,
};
/** 120 fresh, 2,000 and 1,000 written, 15,000 read, 25 out, 3 searches at 10 USD a thousand. */
const CACHED_NANOS = String(120 * 3_000 + 2_000 * 3_750 + 1_000 * 6_000 + 15_000 * 300 + 25 * 15_000 + 3 * 10_000_000);

describe("Anthropic's client", () => {
  it("gets a message, and is billed what it was told", async () => {
    const tag = randomUUID();
    const message = await client.messages.create(ASKED, tagged(tag));
    expect(message.content).toEqual([expect.objectContaining({ type: "text" })]);
    expect(message).toMatchObject({ role: "assistant", stop_reason: "end_turn", usage: { input_tokens: 10 } });
    const amountNanos = String(10 * 3_000 + 16 * 15_000);
    expect(await billLine(sandbox, tag)).toMatchObject({
      key: expect.stringMatching(/^1234:/),
      promptTokens: 10,
      amountNanos,
    });
  });

  it("sees cache and searches apart from its input, and pays each at its own price, streamed or not", async () => {
    const usage = {
      input_tokens: 120,
      cache_creation_input_tokens: 3_000,
      cache_read_input_tokens: 15_000,
      cache_creation: { ephemeral_5m_input_tokens: 2_000, ephemeral_1h_input_tokens: 1_000 },
      output_tokens: 25,
      server_tool_use: { web_search_requests: 3 },
    };
    const tags = [randomUUID(), randomUUID()] as const;
    expect((await client.messages.create(ASKED, tagged(tags[0], CACHED))).usage).toMatchObject(usage);
    const streamed = await client.messages.stream(ASKED, tagged(tags[1], CACHED)).finalMessage();
    expect(streamed.usage).toMatchObject(usage);
    for (const tag of tags) {
      const line = await billLine(sandbox, tag);
      expect(line).toMatchObject({ promptTokens: 18_120, cachedTokens: 15_000, amountNanos: CACHED_NANOS });
    }
  });

  it("streams named events in order, thoughts before text, with the output counted up to the end", async () => {
    const tag = randomUUID();
    const stream = await client.messages.create(
      { ...ASKED, max_tokens: 2_000, stream: true, thinking: { type: "enabled", budget_tokens: 1_024 } },
      tagged(tag, { completionTokens: 6, reasoningTokens: 2 }),
    );
    const events: Anthropic.RawMessageStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    const types = events.map((event) => (event.type === "content_block_delta" ? event.delta.type : event.type));
    expect(types).toEqual([
      "message_start",
      ...["content_block_start", "thinking_delta", "thinking_delta", "signature_delta", "content_block_stop"],
      ...["content_block_start", "text_delta", "text_delta", "text_delta", "text_delta", "content_block_stop"],
      "message_delta",
      "message_stop",
    ]);
    expect(events[0]).toMatchObject({ message: { usage: { output_tokens: 1 } } });
    expect(events.at(-2)).toMatchObject({ usage: { output_tokens: 6, output_tokens_details: { thinking_tokens: 2 } } });
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 6, stream: true, aborted: false });
  });

  it("is called back for tools, whole and in pieces", async () => {
    const asked = { ...ASKED, tools: TOOLS, tool_choice: { type: "any" as const } };
    const control = { completionTokens: 4 };
    const whole = await client.messages.create(asked, tagged(randomUUID(), control));
    const pieces = await client.messages.stream(asked, tagged(randomUUID(), control)).finalMessage();
    for (const message of [whole, pieces]) {
      expect(message.stop_reason).toBe("tool_use");
      expect(message.content).toMatchObject([{ type: "tool_use", name: "look_up", input: { text: "w0 w1 w2 w3" } }]);
    }
  });

  it("counts tokens for nothing", async () => {
    const tag = randomUUID();
    const { model, messages } = ASKED;
    expect(await client.messages.countTokens({ model, messages }, tagged(tag))).toEqual({ input_tokens: 10 });
    expect(await billLine(sandbox, tag)).toBeUndefined();
  });

  it("is told of the running total twice where asked, never a sum", async () => {
    const text = await client.messages
      .create({ ...ASKED, stream: true }, tagged(randomUUID(), { completionTokens: 5, fault: "usage_twice" }))
      .asResponse()
      .then((response) => response.text());
    const counts = [...text.matchAll(/"type":"message_delta".*?"output_tokens":(\d+)/g)].map((match) => match[1]);
    expect(counts).toEqual(["1", "5"]);
  });

  it.each([
    ["overloaded", 529, "overloaded_error"],
    ["rate_limit", 429, "rate_limit_error"],
    ["insufficient_quota", 400, "invalid_request_error"],
    ["auth", 401, "authentication_error"],
    ["server_error", 500, "api_error"],
  ] as const)("fails as %s in Anthropic's words", async (error, status, type) => {
    const tag = randomUUID();
    const caught: unknown = await client.messages.create(ASKED, tagged(tag, { error })).catch((each: unknown) => each);
    expect(caught).toBeInstanceOf(APIError);
    expect(caught).toMatchObject({
      status,
      error: { type: "error", error: { type }, request_id: expect.stringMatching(/^req_/) },
    });
    expect((caught as APIError).headers?.get("retry-after")).toBe(error === "rate_limit" ? "7" : null);
    expect(await billLine(sandbox, tag)).toBeUndefined();
  });

  it("hears of an error in the middle of a stream, and pays for what had been said only if told so", async () => {
    const tag = randomUUID();
    const control: SandboxControl = {
      fault: "error_in_stream",
      cutAfterChunks: 2,
      error: "overloaded",
      billAnyway: true,
    };
    const stream = await client.messages.create({ ...ASKED, stream: true }, tagged(tag, control));
    const read = async () => {
      for await (const _event of stream) continue;
    };
    await expect(read()).rejects.toMatchObject({ error: { error: { type: "overloaded_error" } } });
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 2, aborted: true });
  });

  it("is refused as Anthropic refuses", async () => {
    const create = (body: object) => client.messages.create(body as typeof ASKED);
    await expect(create({ ...ASKED, max_tokens: undefined })).rejects.toMatchObject({
      status: 400,
      error: { error: { type: "invalid_request_error", message: "max_tokens: Field required" } },
    });
    await expect(create({ ...ASKED, messages: [] })).rejects.toBeInstanceOf(BadRequestError);
    await expect(create({ ...ASKED, model: "claude-none" })).rejects.toBeInstanceOf(NotFoundError);
    const headers = { "x-api-key": "sandbox-key-1234" };
    const unversioned = await fetch(`${sandbox.url}/v1/messages`, { method: "POST", headers, body: "{}" });
    expect(await unversioned.json()).toMatchObject({ error: { message: "anthropic-version: header is required" } });
    const anonymous = await fetch(`${sandbox.url}/v1/messages`, { method: "POST", body: "{}" });
    expect([anonymous.status, await anonymous.json()]).toMatchObject([
      401,
      { error: { type: "authentication_error" } },
    ]);
  });

  it("lists models in Anthropic's shape", async () => {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(names).toContain("sandbox-claude-small");
    expect(await client.models.retrieve("sandbox-claude-small")).toMatchObject({ type: "model" });
  });
});

describe("the AI SDK's Anthropic provider", () => {
  it("generates and streams", async () => {
    const anthropic = createAnthropic({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1` });
    const asked = { model: anthropic("sandbox-claude-small"), prompt: "Say something.", maxOutputTokens: 50 };
    const whole = await generateText(asked);
    expect(whole.text.split(" ")).toHaveLength(16);
    expect(whole.usage).toMatchObject({ inputTokens: 10, outputTokens: 16 });
    const streamed = streamText(asked);
    expect(await streamed.text).toBe(whole.text);
    expect(await streamed.usage).toMatchObject({ inputTokens: 10, outputTokens: 16 });
  });
});
