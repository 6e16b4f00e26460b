/** Anthropic's and Google's routes, every kind of provider behind OpenAI's, and calls of one shape to models of the other. */
import { generateText, streamText } from "ai";
import { beforeAll, describe, expect, it } from "vitest";
import type { GatewayHost } from "./host";
import { asking, lastUpstream, post, raw, USER } from "./host";
import type { RouteCaller } from "./route-caller";
import { clientsOf, routeCallerOf } from "./route-caller";
import { addModel, addProvider, CLAUDE, expectBooksAgree, GEMINI, publish } from "./route-models";

const CACHED = {
  ...{ promptTokens: 18_120, cachedTokens: 15_000, cacheWriteTokens: 2_000, cacheWrite1hTokens: 1_000 },
  ...{ completionTokens: 25, searches: 3 },
};
const ASKED = { model: CLAUDE.name, max_tokens: 100, messages: USER };

function servesAnthropic(host: () => GatewayHost, caller: () => RouteCaller): void {
  const agree = () => expectBooksAgree(host(), caller().made, caller().requestId());

  it("messages, whole and streamed, cache, its lifetimes and searches at their own rates", async () => {
    const tools = [{ type: "web_search_20250305" as const, name: "web_search" as const, max_uses: 5 }];
    const asked = { ...ASKED, tools, ...asking(CACHED) };
    const message = await caller().anthropic.messages.create(asked);
    expect(message.usage).toMatchObject({ cache_read_input_tokens: 15_000, output_tokens: 25 });
    const amount = await agree();
    expect(amount).toBe(
      120n * 1_000n + 2_000n * 1_250n + 1_000n * 2_000n + 15_000n * 100n + 25n * 5_000n + 30_000_000n,
    );
    const streamed = await caller().anthropic.messages.stream(asked).finalMessage();
    expect(streamed.content).toEqual(message.content);
    expect(await agree()).toBe(amount);
  });

  it("count_tokens, for nothing", async () => {
    const counted = await caller().anthropic.messages.countTokens({ model: CLAUDE.name, messages: USER });
    expect(counted.input_tokens).toBeGreaterThan(0);
    expect(await agree()).toBe(0n);
  });

  it("lists the models of the key in its own shape", async () => {
    const names: string[] = [];
    for await (const model of caller().anthropic.models.list()) names.push(model.id);
    expect(names).toContain(CLAUDE.name);
    await expect(caller().anthropic.models.retrieve(CLAUDE.name)).resolves.toMatchObject({ type: "model" });
  });

  it("passes the version and the betas of the caller, and the key of the company", async () => {
    await caller().anthropic.messages.create(ASKED, { headers: { "anthropic-beta": "some-beta-2026" } });
    const { headers } = await lastUpstream(host());
    expect(headers).toMatchObject({
      "anthropic-version": expect.stringMatching(/^\d{4}-\d\d-\d\d$/u) as string,
      "anthropic-beta": "some-beta-2026",
    });
    expect(JSON.stringify(headers)).not.toContain(caller().made.apiKey.secret.slice(-8));
  });

  it("the AI SDK's Anthropic provider", async () => {
    const model = caller().ai.anthropic(CLAUDE.name);
    expect((await generateText({ model, prompt: "Say" })).text).toMatch(/^w0 w1/u);
    await agree();
    expect(await streamText({ model, prompt: "Say" }).text).toMatch(/^w0 w1/u);
    await agree();
  });
}

function servesGemini(host: () => GatewayHost, caller: () => RouteCaller): void {
  const contents = [{ role: "user", parts: [{ text: "Say something." }] }];
  const control = {
    promptTokens: 100,
    cachedTokens: 30,
    completionTokens: 50,
    reasoningTokens: 20,
    toolPromptTokens: 7,
  };
  const amount = 77n * 300n + 30n * 30n + 50n * 2_500n;
  const call = (base: string, action: string, body: object) =>
    host().fetch(`${host().baseURL.replace(/\/v1$/u, "")}${base}/models/${GEMINI.name}:${action}`, {
      method: "POST",
      headers: { "x-goog-api-key": caller().made.apiKey.secret, "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  it.each([
    ["generateContent", "whole"],
    ["streamGenerateContent?alt=sse", "as events"],
    ["streamGenerateContent", "as one list"],
  ])("%s, %s", async (action) => {
    const answer = await call("/v1", action, { contents, sandbox: control });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('"finishReason":"STOP"');
    expect(await expectBooksAgree(host(), caller().made, answer.headers.get("x-request-id") ?? "")).toBe(amount);
  });

  it("countTokens, and errors as Google's", async () => {
    const counted = await call("/v1beta", "countTokens", { contents });
    expect(await counted.json()).toMatchObject({ totalTokens: expect.any(Number) as number });
    const refused = await call("/v1", "generateContent", { contents: [] });
    expect(await refused.json()).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } });
  });
}

/** Base paths of the vendors, all of which the sandbox speaks. */
const KINDS = [
  ["openai", "/v1", "sandbox-small"],
  ["azure", "", "sandbox-small"],
  ["azure", "/openai/v1", "sandbox-small"],
  ["anthropic", "", "sandbox-claude-small"],
  ["gemini", "", "sandbox-gemini-flash"],
  ["deepseek", "", "sandbox-deepseek"],
  ["dashscope", "/compatible-mode/v1", "sandbox-qwen"],
  ["zhipu", "/api/paas/v4", "sandbox-glm"],
  ["moonshot", "/v1", "sandbox-kimi"],
  ["qianfan", "/v2", "sandbox-ernie"],
  ["ark", "/api/v3", "sandbox-doubao"],
  ["vllm", "/v1", "sandbox-vllm"],
  ["ollama", "/v1", "sandbox-llama"],
  ["openai-compatible", "/v1", "sandbox-small"],
] as const;

/** Rates of these models in the sandbox, USD per token: input, cached, output. */
const RATES: Readonly<Record<(typeof KINDS)[number][2], readonly [string, string, string]>> = {
  "sandbox-small": ["0.00000015", "0.000000075", "0.0000006"],
  "sandbox-claude-small": ["0.000001", "0.0000001", "0.000005"],
  "sandbox-gemini-flash": ["0.0000003", "0.00000003", "0.0000025"],
  "sandbox-deepseek": ["0.00000015", "0.000000003", "0.0000006"],
  "sandbox-qwen": ["0.0000004", "0.00000008", "0.0000012"],
  "sandbox-glm": ["0.0000012", "0.0000003", "0.0000042"],
  "sandbox-kimi": ["0.00000095", "0.00000016", "0.000004"],
  "sandbox-ernie": ["0.0000006", "0.0000006", "0.0000024"],
  "sandbox-doubao": ["0.00000025", "0.00000005", "0.000002"],
  "sandbox-vllm": ["0.0000001", "0.0000001", "0.0000004"],
  "sandbox-llama": ["0", "0", "0"],
};

function servesProviders(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    const made = await host().bench.organisation();
    for (const [kind, base, upstreamModel] of KINDS) {
      const providerId = await addProvider(host(), made, kind, `${host().bench.sandbox.url}${base}`);
      const [inputPerToken, cacheReadPerToken, outputPerToken] = RATES[upstreamModel];
      const rates = { inputPerToken, cacheReadPerToken, outputPerToken };
      await addModel(host(), made, { name: `${kind}${base}`, kind: "chat", rates, upstreamModel }, [{ providerId }]);
    }
    const rates = { inputPerToken: "0.00000015", outputPerToken: "0.0000006" };
    await addModel(host(), made, { name: "通义 千问", kind: "chat", rates, upstreamModel: "sandbox-small" });
    await publish(host(), made);
    caller = clientsOf(host(), made);
  });

  it("a model with a name in any script", async () => {
    const { response } = await caller.openai.chat.completions
      .create({ model: "通义 千问", messages: USER })
      .withResponse();
    expect(decodeURIComponent(response.headers.get("x-spillway-model") ?? "")).toBe("通义 千问");
    await expectBooksAgree(host(), caller.made, caller.requestId());
  });

  it.each(KINDS.map(([kind, base]) => [kind, base] as const))("%s%s, whole and streamed", async (kind, base) => {
    const asked = { model: `${kind}${base}`, messages: USER, max_tokens: 30, ...extrasFor(kind) };
    const answer = await caller.openai.chat.completions.create(asked);
    expect(answer.choices[0]?.message.content).toMatch(/^w0 w1/u);
    await expectBooksAgree(host(), caller.made, caller.requestId());
    let text = "";
    for await (const chunk of await caller.openai.chat.completions.create({ ...asked, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    expect(text).toMatch(/^w0 w1/u);
    await expectBooksAgree(host(), caller.made, caller.requestId());
  });
}

/** What a body of one shape asks of the sandbox has no counterpart in the other; who does not tell the cache has none. */
function extrasFor(kind: string): object {
  if (kind === "anthropic") return {};
  if (kind === "gemini") return asking({ promptTokens: 50, completionTokens: 9, reasoningTokens: 4 });
  return asking({ promptTokens: 50, cachedTokens: 20, completionTokens: 9 });
}

function translates(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    const made = await host().bench.organisation();
    const anthropic = await addProvider(host(), made, "anthropic", host().bench.sandbox.url);
    const openai = await addProvider(host(), made, "openai", `${host().bench.sandbox.url}/v1`);
    const [input, , output] = RATES["sandbox-small"];
    const rates = { inputPerToken: input, outputPerToken: output };
    await addModel(host(), made, CLAUDE, [{ providerId: anthropic }]);
    await addModel(host(), made, { name: "gpt", kind: "chat", rates, upstreamModel: "sandbox-small" }, [
      { providerId: openai },
    ]);
    await publish(host(), made);
    caller = clientsOf(host(), made);
  });
  const agree = () => expectBooksAgree(host(), caller.made, caller.requestId());

  it("an Anthropic client gets a message from an OpenAI model, whole and streamed", async () => {
    const asked = { model: "gpt", max_tokens: 20, messages: USER };
    const message = await caller.anthropic.messages.create(asked);
    expect(message).toMatchObject({ type: "message", role: "assistant", content: [{ type: "text" }] });
    await agree();
    const streamed = await caller.anthropic.messages.stream(asked).finalMessage();
    expect(streamed.content).toEqual(message.content);
    expect(streamed.usage.output_tokens).toBe(message.usage.output_tokens);
    await agree();
  });

  it("an OpenAI client gets the usage chunk of a translated stream only where it asked", async () => {
    const asked = { model: CLAUDE.name, messages: USER, stream: true as const };
    const usages: number[] = [];
    for await (const chunk of await caller.openai.chat.completions.create({
      ...asked,
      stream_options: { include_usage: true },
    })) {
      if (chunk.usage) usages.push(chunk.usage.completion_tokens);
    }
    expect(usages).toEqual([16]);
    await agree();
  });

  it("what has no counterpart is a clear 400 that names the field; nothing is sent", async () => {
    const body = JSON.stringify({ model: CLAUDE.name, messages: USER, response_format: { type: "json_object" } });
    const response = await raw(host(), "/chat/completions", post(caller.made.apiKey.secret, body));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "response_format", code: "invalid_request" } });
    const top = await caller.anthropic.messages
      .create({ model: "gpt", max_tokens: 5, messages: USER, ...{ top_k: 3 } })
      .catch((error: unknown) => error);
    expect(top).toMatchObject({ status: 400, error: { type: "error", error: { type: "invalid_request_error" } } });
  });

  it("a route that no provider of the model serves is refused clearly", async () => {
    const error = await caller.openai.responses
      .create({ model: CLAUDE.name, input: "x" })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 400, param: "model" });
  });
}

export function servesVendorRoutes(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    caller = await routeCallerOf(host());
  });
  describe("Anthropic's", () => {
    servesAnthropic(host, () => caller);
  });
  describe("Google's", () => {
    servesGemini(host, () => caller);
  });
  describe("every kind of provider", () => {
    servesProviders(host);
  });
  describe("from one shape to the other", () => {
    translates(host);
  });
}
