import { randomUUID } from "node:crypto";
import { createOpenAI } from "@ai-sdk/openai";
import { embed, generateText, streamText } from "ai";
import OpenAI, { BadRequestError, NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxControl } from "../control-fields";
import { type Sandbox, startSandbox } from "../server";
import { billLine, tagged } from "../testing/client";

let sandbox: Sandbox;
let client: OpenAI;
beforeAll(async () => {
  sandbox = await startSandbox();
  client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
});
afterAll(() => sandbox.close());

const ASKED = { model: "sandbox-large", input: "Say something." };
const TOOLS: OpenAI.Responses.FunctionTool[] = [
  { type: "function", name: "look_up", parameters: { type: "object", properties: {} }, strict: false },
];

describe("responses", () => {
  it("answer whole, and are billed what they say", async () => {
    const tag = randomUUID();
    const control: SandboxControl = { promptTokens: 100, cachedTokens: 60, completionTokens: 20, reasoningTokens: 5 };
    const response = await client.responses.create(ASKED, tagged(tag, control));
    expect(response.output_text.split(" ")).toHaveLength(15);
    expect(response.output.map((item) => item.type)).toEqual(["reasoning", "message"]);
    expect(response).toMatchObject({ object: "response", status: "completed", error: null, incomplete_details: null });
    expect(response.usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    });
    const amountNanos = String(40 * 2_500 + 60 * 1_250 + 20 * 10_000);
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos, extras: { reasoningTokens: 5 }, stream: false });
  });

  it("stream typed events, numbered without a gap, with the usage in the last", async () => {
    const tag = randomUUID();
    const control: SandboxControl = { completionTokens: 4, reasoningTokens: 1 };
    const stream = await client.responses.create({ ...ASKED, stream: true }, tagged(tag, control));
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.type)).toEqual([
      ...["response.created", "response.in_progress", "response.output_item.added", "response.output_item.done"],
      ...["response.output_item.added", "response.content_part.added"],
      ...Array.from({ length: 3 }, () => "response.output_text.delta"),
      ...["response.output_text.done", "response.content_part.done", "response.output_item.done"],
      "response.completed",
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ response: { usage: { input_tokens: 10, output_tokens: 4 } } });
    expect(await billLine(sandbox, tag)).toMatchObject({ promptTokens: 10, completionTokens: 4, stream: true });
  });

  it("end incomplete at their cap, and are billed all the same", async () => {
    const tag = randomUUID();
    const asked = { ...ASKED, max_output_tokens: 16 };
    const response = await client.responses.create(asked, tagged(tag, { completionTokens: 50 }));
    expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    expect(response.usage?.output_tokens).toBe(16);
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 16, amountNanos: String(25_000 + 160_000) });
  });

  it("call functions, whole and in pieces", async () => {
    const asked = { ...ASKED, tools: TOOLS, tool_choice: "required" as const };
    const whole = await client.responses.create(asked, tagged(randomUUID(), { completionTokens: 3 }));
    const options = tagged(randomUUID(), { completionTokens: 3 });
    const pieces = await client.responses.stream(asked, options).finalResponse();
    for (const response of [whole, pieces]) {
      expect(response.output).toMatchObject([{ type: "function_call", name: "look_up" }]);
      const [call] = response.output;
      expect(JSON.parse((call as OpenAI.Responses.ResponseFunctionToolCall).arguments)).toEqual({ text: "w0 w1 w2" });
    }
  });

  it("read, and bill, all that was said before", async () => {
    const first = await client.responses.create(ASKED, tagged(randomUUID(), { completionTokens: 30 }));
    const second = await client.responses.create({ ...ASKED, previous_response_id: first.id });
    expect(second.usage?.input_tokens).toBe(10 + 30 + 10);
    await expect(client.responses.create({ ...ASKED, previous_response_id: "resp_none" })).rejects.toMatchObject({
      code: "previous_response_not_found",
    });
  });

  it("run in the background, billed when they are done", async () => {
    const tag = randomUUID();
    const started = await client.responses.create({ ...ASKED, background: true }, tagged(tag, { polls: 2 }));
    expect(started).toMatchObject({ status: "queued", output: [], usage: null });
    expect((await client.responses.retrieve(started.id)).status).toBe("in_progress");
    expect(await billLine(sandbox, tag)).toBeUndefined();
    expect((await client.responses.retrieve(started.id)).status).toBe("in_progress");
    expect(await client.responses.retrieve(started.id)).toMatchObject({
      status: "completed",
      usage: { total_tokens: 26 },
    });
    expect(await billLine(sandbox, tag)).toMatchObject({ promptTokens: 10, completionTokens: 16, aborted: false });
    await client.responses.delete(started.id);
    await expect(client.responses.retrieve(started.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("are cancelled with what was made until then on the bill, and no word of it in the answer", async () => {
    const tag = randomUUID();
    const control: SandboxControl = { polls: 3, completionTokens: 100 };
    const { id } = await client.responses.create({ ...ASKED, background: true }, tagged(tag, control));
    await client.responses.retrieve(id);
    expect(await client.responses.cancel(id)).toMatchObject({ status: "cancelled", usage: null });
    expect(await client.responses.cancel(id)).toMatchObject({ status: "cancelled" });
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 25, aborted: true });
  });

  it("fail in the middle of a stream with an error event, and at its end as a failed response", async () => {
    const read = async (control: SandboxControl) => {
      const tag = randomUUID();
      const stream = await client.responses.create({ ...ASKED, stream: true }, tagged(tag, control));
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      try {
        for await (const event of stream) events.push(event);
      } catch (error) {
        return { error, line: await billLine(sandbox, tag) };
      }
      return { last: events.at(-1), line: await billLine(sandbox, tag) };
    };
    const broken = await read({ fault: "error_in_stream", cutAfterChunks: 2, errorMessage: "out of luck" });
    expect(String((broken.error as Error | undefined)?.message ?? JSON.stringify(broken.last))).toContain(
      "out of luck",
    );
    expect(broken.line).toBeUndefined();
    const failed = await read({ fault: "failed_response" });
    expect(failed).toMatchObject({ last: { type: "response.failed", response: { error: { code: "server_error" } } } });
    expect(failed.line).toBeUndefined();
  });

  it("count input for nothing, and refuse what OpenAI refuses", async () => {
    const tag = randomUUID();
    const counted = await client.responses.inputTokens.count(ASKED, tagged(tag));
    expect(counted).toEqual({ object: "response.input_tokens", input_tokens: 10 });
    expect(await billLine(sandbox, tag)).toBeUndefined();
    await expect(client.responses.create({ model: "sandbox-large" })).rejects.toMatchObject({ param: "input" });
    await expect(client.responses.create({ ...ASKED, max_output_tokens: 3 })).rejects.toBeInstanceOf(BadRequestError);
  });
});

describe("completions", () => {
  const asked = { model: "sandbox-instruct", prompt: ["one two", "three"] };

  it("bill every candidate of every prompt, also those that are thrown away", async () => {
    const tag = randomUUID();
    const answer = await client.completions.create({ ...asked, n: 2, best_of: 5, max_tokens: 8 }, tagged(tag));
    expect(answer.choices.map(({ index, text }) => [index, text.split(" ").length])).toEqual([
      [0, 8],
      [1, 8],
      [2, 8],
      [3, 8],
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 4, completion_tokens: 80, total_tokens: 84 });
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: String(4 * 1_500 + 80 * 2_000) });
  });

  it("give 16 tokens unless asked for more, and echo the prompt", async () => {
    const answer = await client.completions.create(
      { ...asked, prompt: "Once", echo: true },
      tagged(randomUUID(), { completionTokens: 500 }),
    );
    expect(answer.choices[0]?.text).toMatch(/^Oncew0 w1/);
    expect(answer).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 16 } });
  });

  it("stream, with usage before the end when asked", async () => {
    const tag = randomUUID();
    const stream = await client.completions.create(
      { ...asked, stream: true, stream_options: { include_usage: true }, max_tokens: 3 },
      tagged(tag),
    );
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.pop()).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });
    const texts = [0, 1].map((index) => chunks.flatMap(({ choices }) => choices.filter((c) => c.index === index)));
    expect(texts.map((choices) => choices.map(({ text }) => text).join(""))).toEqual(["w0 w1 w2", "w0 w1 w2"]);
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 6, stream: true });
  });

  it("refuse a stream of the best of more, and a missing prompt", async () => {
    await expect(client.completions.create({ ...asked, stream: true, best_of: 2 })).rejects.toBeInstanceOf(
      BadRequestError,
    );
    await expect(client.completions.create({ model: asked.model, prompt: null })).rejects.toMatchObject({
      param: "prompt",
    });
  });
});

describe("the AI SDK's OpenAI provider", () => {
  it("generates and streams by responses, chat and completions, and embeds", async () => {
    const openai = createOpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1` });
    const models = [
      openai.responses("sandbox-large"),
      openai.chat("sandbox-large"),
      openai.completion("sandbox-instruct"),
    ];
    for (const model of models) {
      const whole = await generateText({ model, prompt: "Say something." });
      expect(whole.text.split(" ")).toHaveLength(16);
      const streamed = streamText({ model, prompt: "Say something." });
      expect(await streamed.text).toBe(whole.text);
      expect(await streamed.usage).toMatchObject({ outputTokens: 16, inputTokens: whole.usage.inputTokens });
    }
    const { usage } = await embed({ model: openai.embeddingModel("sandbox-embed"), value: "blue water" });
    expect(usage.tokens).toBe(3);
  });
});
