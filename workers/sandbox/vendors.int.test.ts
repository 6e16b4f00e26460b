import { randomUUID } from "node:crypto";
import OpenAI, { AzureOpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ErrorName, SandboxControl } from "./control-fields";
import { type Sandbox, startSandbox } from "./server";
import { billLine, readEvents, tagged } from "./testing/client";
import type { Vendor } from "./vendors";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const messages = [{ role: "user" as const, content: "Say something." }];
const COUNTS: SandboxControl = { promptTokens: 100, cachedTokens: 40, completionTokens: 30, reasoningTokens: 10 };

/** A bearer call with JSON in and text out. */
async function post(
  path: string,
  body: object,
  tag: string,
  control: SandboxControl = {},
): Promise<{ status: number; text: string }> {
  const { headers } = tagged(tag, control);
  const answer = await fetch(sandbox.url + path, {
    method: "POST",
    headers: { ...headers, authorization: "Bearer sandbox-key-1234" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

describe("usage of a vendor that speaks OpenAI's format", () => {
  const details = { prompt_tokens_details: { cached_tokens: 40 }, completion_tokens_details: { reasoning_tokens: 10 } };
  const sums = { prompt_tokens: 100, completion_tokens: 30, total_tokens: 130 };
  it.each([
    ["/v1", "sandbox-large", { ...sums, ...details }],
    ["", "sandbox-deepseek", { ...sums, prompt_cache_hit_tokens: 40, prompt_cache_miss_tokens: 60 }],
    ["/compatible-mode/v1", "sandbox-qwen", { ...sums, ...details }],
    ["/api/paas/v4", "sandbox-glm", { ...sums, ...details }],
    ["/v1", "sandbox-kimi", { ...sums, cached_tokens: 40 }],
    ["/v2", "sandbox-ernie", sums],
    ["/api/v3", "sandbox-doubao", { ...sums, ...details }],
    ["/v1", "sandbox-grok", { prompt_tokens: 100, completion_tokens: 20, total_tokens: 130 }],
    ["/v1beta/openai", "sandbox-gemini-flash", { prompt_tokens: 100, completion_tokens: 20, total_tokens: 130 }],
    ["/v1", "sandbox-vllm", sums],
    ["/v1", "sandbox-llama", sums],
  ])("stands under %s for %s where that vendor puts it, and is billed the same", async (base, model, usage) => {
    const tag = randomUUID();
    const { text } = await post(`${base}/chat/completions`, { model, messages }, tag, COUNTS);
    expect(JSON.parse(text)).toMatchObject({ model, usage });
    expect(await billLine(sandbox, tag)).toMatchObject({
      model,
      promptTokens: 100,
      cachedTokens: 40,
      completionTokens: 30,
    });
  });

  it("comes in a stream at the end of the choices, in the finishing chunk, or in a chunk of its own", async () => {
    const events = async (model: string, more: object = {}) => {
      const { text } = await post(
        "/v1/chat/completions",
        { model, messages, stream: true, ...more },
        randomUUID(),
        COUNTS,
      );
      return readEvents(text)
        .events.slice(0, -1)
        .map((event) => JSON.parse(event));
    };
    const kimi = (await events("sandbox-kimi")).at(-1);
    expect(kimi).not.toHaveProperty("usage");
    expect(kimi.choices[0]).toMatchObject({ finish_reason: "stop", usage: { cached_tokens: 40, total_tokens: 130 } });
    expect((await events("sandbox-glm")).at(-1)).toMatchObject({
      choices: [{ finish_reason: "stop" }],
      usage: { total_tokens: 130 },
    });
    const asked = { stream_options: { include_usage: true } };
    expect((await events("sandbox-qwen", asked)).at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 130 } });
    expect((await events("sandbox-qwen")).some((event) => event.usage)).toBe(false);
  });

  it("runs along with every chunk where vLLM is asked for that", async () => {
    const tag = randomUUID();
    const options = { stream_options: { include_usage: true, continuous_usage_stats: true } };
    const body = { model: "sandbox-vllm", messages, stream: true, ...options };
    const { text } = await post("/v1/chat/completions", body, tag, { completionTokens: 3, promptTokens: 5 });
    const totals = readEvents(text)
      .events.slice(0, -1)
      .map((event) => JSON.parse(event).usage.total_tokens);
    expect(totals.slice(1, 4)).toEqual([6, 7, 8]);
    expect(totals.at(-1)).toBe(8);
  });

  it("is any object that the control gives, which the bill does not believe", async () => {
    const tag = randomUUID();
    const usage = { prompt_tokens: -1, completion_tokens: "many" };
    const { text } = await post("/v1/chat/completions", { model: "sandbox-small", messages }, tag, { usage });
    expect(JSON.parse(text).usage).toEqual(usage);
    expect(await billLine(sandbox, tag)).toMatchObject({ promptTokens: 10, completionTokens: 16 });
  });

  it("shows thoughts where the vendor does, and charges them once", async () => {
    const tag = randomUUID();
    const body = { model: "sandbox-deepseek", messages, stream: true };
    const { text } = await post("/chat/completions", body, tag, { completionTokens: 5, reasoningTokens: 2 });
    expect(text.match(/"reasoning_content"/g)).toHaveLength(2);
    expect(readEvents(text).content).toBe("w0 w1 w2");
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 5, extras: { reasoningTokens: 2 } });
  });
});

describe("tool calls of a chat", () => {
  it("come whole and in pieces, several at once", async () => {
    const client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
    const tools = ["one", "two"].map((name) => ({ type: "function" as const, function: { name } }));
    const asked = { model: "sandbox-large", messages, tools };
    const options = () => tagged(randomUUID(), { toolCalls: 2, completionTokens: 3 });
    const whole = await client.chat.completions.create(asked, options());
    const pieces = await client.chat.completions.stream(asked, options()).finalChatCompletion();
    for (const { choices } of [whole, pieces]) {
      expect(choices[0]).toMatchObject({
        finish_reason: "tool_calls",
        message: {
          content: expect.toSatisfy((content) => content === null || content === ""),
          tool_calls: [
            { function: { name: "one", arguments: '{"text":"w0 w1"}' } },
            { function: { name: "two", arguments: '{"text":"w0"}' } },
          ],
        },
      });
    }
    const forced = { ...asked, tool_choice: { type: "function" as const, function: { name: "two" } } };
    const [choice] = (await client.chat.completions.create(forced)).choices;
    expect(choice?.message.tool_calls).toMatchObject([{ function: { name: "two" } }]);
  });
});

describe("errors by name", () => {
  const path: Partial<Record<Vendor, string>> = {
    deepseek: "",
    dashscope: "/compatible-mode/v1",
    zhipu: "/api/paas/v4",
  };
  it.each([
    ["openai", "insufficient_quota", 429, { error: { code: "insufficient_quota", type: "insufficient_quota" } }],
    ["openai", "context_length", 400, { error: { code: "context_length_exceeded" } }],
    ["openai", "overloaded", 503, { error: { code: "server_is_overloaded" } }],
    ["deepseek", "insufficient_quota", 402, { error: { message: expect.stringContaining("Insufficient Balance") } }],
    ["dashscope", "insufficient_quota", 400, { error: { code: "Arrearage" } }],
    ["zhipu", "insufficient_quota", 429, { error: { code: "1113" } }],
    ["zhipu", "rate_limit", 429, { error: { code: "1302" } }],
    ["moonshot", "insufficient_quota", 429, { error: { type: "exceeded_current_quota_error" } }],
    ["moonshot", "overloaded", 429, { error: { type: "engine_overloaded_error" } }],
    [
      "qianfan",
      "insufficient_quota",
      429,
      { error: { code: "BILLING_INSUFFICIENT_BALANCE" }, id: expect.stringMatching(/^as-/) },
    ],
    ["ark", "insufficient_quota", 403, { error: { code: "AccountOverdueError" } }],
    [
      "azure",
      "content_filter",
      400,
      { error: { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } } },
    ],
    ["azure", "rate_limit", 429, { error: { code: "429" } }],
  ] satisfies [Vendor, ErrorName, number, object][])(
    "%s says %s with %i in its own words",
    async (vendor, error, status, body) => {
      const tag = randomUUID();
      const base = path[vendor] ?? "/v1";
      const answer = await post(`${base}/chat/completions`, { model: "sandbox-large", messages }, tag, {
        vendor,
        error,
      });
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toMatchObject(body);
      expect(await billLine(sandbox, tag)).toBeUndefined();
    },
  );

  it("come with the time after which to try again, in seconds and in milliseconds", async () => {
    const { headers } = tagged(randomUUID(), { error: "rate_limit", retryAfterMs: 1_500, retryAfter: 2 });
    const answer = await fetch(`${sandbox.url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...headers, authorization: "Bearer sandbox-key-1234" },
      body: JSON.stringify({ model: "sandbox-large", messages }),
    });
    expect([answer.headers.get("retry-after"), answer.headers.get("retry-after-ms")]).toEqual(["2", "1500"]);
  });
});

describe("Azure", () => {
  it("is spoken to by its own client: deployment in the path, key in its header, filter results first", async () => {
    const tag = randomUUID();
    const client = new AzureOpenAI({
      ...{ apiKey: "sandbox-key-1234", endpoint: sandbox.url, apiVersion: "2025-04-01-preview", maxRetries: 0 },
      deployment: "sandbox-large",
    });
    const asked = { model: "sandbox-large", messages };
    const whole = await client.chat.completions.create(asked, tagged(tag));
    expect(whole.usage?.total_tokens).toBe(26);
    expect(await billLine(sandbox, tag)).toMatchObject({
      key: expect.stringMatching(/^1234:/),
      model: "sandbox-large",
    });
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks[0]).toMatchObject({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
    const { data } = await client.embeddings
      .create({ model: "sandbox-embed", input: "hi" })
      .catch(() => ({ data: [] }));
    expect(data).toEqual([]);
    const nameless = await fetch(`${sandbox.url}/openai/deployments/sandbox-large/chat/completions`, {
      method: "POST",
      headers: { "api-key": "sandbox-key-1234" },
      body: JSON.stringify({ messages }),
    });
    expect([nameless.status, await nameless.json()]).toEqual([
      404,
      { error: { code: "404", message: "Resource not found" } },
    ]);
  });
});
