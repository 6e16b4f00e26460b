import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { SseSplitter } from "@/lib/gateway/wire/sse";
import { anthropicAnswer, openAiAnswer } from "./answers";
import { AnthropicStreamWriter } from "./anthropic-stream";
import { OpenAiStreamWriter } from "./openai-stream";
import type { SampleMessage } from "./testing/conversations";
import { messages } from "./testing/conversations";

const CREATED = 1_790_000_000;
const encoder = new TextEncoder();
const options = { createdSeconds: CREATED, wantsUsage: true };

/** The text in pieces of at most `size` letters: how a model would send it. */
function pieces(text: string, size: number): string[] {
  const letters = [...text];
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, index) =>
    letters.slice(index * size, (index + 1) * size).join(""),
  );
}

/** An Anthropic stream of a message, written as the provider writes it. */
function anthropicWire(message: SampleMessage, size: number): string {
  const { output_tokens, ...input } = message.usage;
  const events: { type: string; [name: string]: unknown }[] = [
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } },
    },
    { type: "ping" },
  ];
  message.content.forEach((block, index) => {
    const isText = "text" in block;
    const content_block = isText ? { ...block, text: "" } : { ...block, input: {} };
    events.push({ type: "content_block_start", index, content_block });
    const isBare = !isText && Object.keys(block.input).length === 0;
    const parts = isText ? pieces(block.text, size) : isBare ? [""] : pieces(JSON.stringify(block.input), size);
    for (const part of parts) {
      const delta = isText ? { type: "text_delta", text: part } : { type: "input_json_delta", partial_json: part };
      events.push({ type: "content_block_delta", index, delta });
    }
    events.push({ type: "content_block_stop", index });
  });
  events.push({
    type: "message_delta",
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: { output_tokens },
  });
  events.push({ type: "message_stop" });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** An OpenAI stream of a completion that `openAiAnswer` made. */
function openAiWire(answer: ReturnType<typeof openAiAnswer>, size: number): string {
  const { id, model, choices, usage } = answer as {
    id: string;
    model: string;
    usage: object;
    choices: {
      finish_reason: string;
      message: { content: string | null; tool_calls?: { function: { name: string; arguments: string } }[] };
    }[];
  };
  const [choice] = choices;
  const head = { id, object: "chat.completion.chunk", created: CREATED, model };
  const deltas: object[] = [{ role: "assistant", content: choice?.message.content === null ? null : "" }];
  for (const content of pieces(choice?.message.content ?? "", size)) deltas.push({ content });
  choice?.message.tool_calls?.forEach((call, index) => {
    deltas.push({ tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: "" } }] });
    for (const text of pieces(call.function.arguments, size))
      deltas.push({ tool_calls: [{ index, function: { arguments: text } }] });
  });
  const chunks: object[] = deltas.map((delta) => ({ ...head, choices: [{ index: 0, delta, finish_reason: null }] }));
  chunks.push(
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: choice?.finish_reason }] },
    { ...head, choices: [], usage },
  );
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

/** What a writer makes of a wire that arrives in these chunks. */
function through(writer: { push(data: string): string }, wire: string, cuts: readonly number[]): string {
  const bytes = encoder.encode(wire);
  const splitter = new SseSplitter();
  let text = "";
  let from = 0;
  for (const cut of [...cuts.map((at) => at % bytes.length).sort((left, right) => left - right), bytes.length]) {
    for (const event of splitter.push(bytes.subarray(from, cut)))
      if (event.data !== "") text += writer.push(event.data);
    from = cut;
  }
  return text;
}

const EVENTS = { headers: { "content-type": "text/event-stream" } };

async function readByOpenAi(wire: string): Promise<OpenAI.ChatCompletion> {
  const client = new OpenAI({
    apiKey: "k",
    baseURL: "http://127.0.0.1/v1",
    fetch: async () => new Response(wire, EVENTS),
  });
  return client.chat.completions.stream({ model: "m", messages: [] }).finalChatCompletion();
}

async function readByAnthropic(wire: string): Promise<Anthropic.Message> {
  const client = new Anthropic({
    apiKey: "k",
    baseURL: "http://127.0.0.1",
    fetch: async () => new Response(wire, EVENTS),
  });
  return client.messages.stream({ model: "m", max_tokens: 1, messages: [] }).finalMessage();
}

const cuts = fc.array(fc.nat(), { maxLength: 30 });
const size = fc.integer({ min: 1, max: 6 });

describe("an answer", () => {
  it("is itself again after a translation there and back, from either side", () => {
    fc.assert(
      fc.property(messages, (message) => {
        const translated = openAiAnswer(message, CREATED);
        expect(anthropicAnswer(translated)).toEqual(message);
        expect(openAiAnswer(anthropicAnswer(translated), CREATED)).toEqual(translated);
      }),
      { numRuns: 500 },
    );
  });

  it("streamed to an OpenAI client is what the whole answer is, at any chunk boundaries, read by the SDK", async () => {
    await fc.assert(
      fc.asyncProperty(messages, size, cuts, async (message, letters, at) => {
        const wire = through(new OpenAiStreamWriter(options), anthropicWire(message, letters), at);
        expect(await readByOpenAi(wire)).toMatchObject(openAiAnswer(message, CREATED));
      }),
      { numRuns: 100 },
    );
  });

  it("streamed to an Anthropic client is what the whole answer is, at any chunk boundaries, read by the SDK", async () => {
    await fc.assert(
      fc.asyncProperty(messages, size, cuts, async (message, letters, at) => {
        const answer = openAiAnswer(message, CREATED);
        const wire = through(new AnthropicStreamWriter(), openAiWire(answer, letters), at);
        expect(await readByAnthropic(wire)).toMatchObject(anthropicAnswer(answer));
      }),
      { numRuns: 100 },
    );
  });

  it("adds the cache to the prompt for OpenAI: 120 fresh, 3,000 written, 15,000 read are 18,120", () => {
    const usage = {
      input_tokens: 120,
      cache_creation_input_tokens: 3000,
      cache_read_input_tokens: 15_000,
      output_tokens: 5,
    };
    expect(openAiAnswer({ content: [], usage }, CREATED).usage).toMatchObject({
      prompt_tokens: 18_120,
      total_tokens: 18_125,
      prompt_tokens_details: { cached_tokens: 15_000, cache_write_tokens: 3000 },
    });
  });

  it("hides thoughts and joins texts for OpenAI", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(openAiAnswer({ content, stop_reason: "stop_sequence" }, CREATED).choices).toMatchObject([
      { message: { content: "ab" }, finish_reason: "stop" },
    ]);
  });

  it("that calls a tool says so to Anthropic, whatever the server says; a refusal is one", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "" } };
    const forced = { choices: [{ message: { content: null, tool_calls: [call] }, finish_reason: "stop" }] };
    expect(anthropicAnswer(forced)).toMatchObject({ stop_reason: "tool_use", content: [{ input: {} }] });
    const refused = { choices: [{ message: { content: null, refusal: "No." }, finish_reason: "stop" }] };
    expect(anthropicAnswer(refused)).toMatchObject({ stop_reason: "refusal", content: [{ text: "No." }] });
  });

  it.each<[string, () => unknown]>([
    ["content[0].type", () => openAiAnswer({ content: [{ type: "server_tool_use" }] }, CREATED)],
    ["choices", () => anthropicAnswer({ choices: [{}, {}] })],
    [
      "choices[0].message.tool_calls[0].function.arguments",
      () => anthropicAnswer({ choices: [{ message: { tool_calls: [{ function: { name: "f", arguments: "{" } }] } }] }),
    ],
  ])("that cannot be carried over names the field %s", (field, translate) => {
    expect(translate).toThrow(field);
  });
});

describe("a stream that breaks", () => {
  const start = { type: "message_start", message: { id: "m", model: "m", usage: {} } };
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };

  it("with an error is an error to the client of the other shape", async () => {
    const toOpenAi = new OpenAiStreamWriter(options);
    const wire = toOpenAi.push(JSON.stringify(start)) + toOpenAi.push(JSON.stringify(overloaded));
    await expect(readByOpenAi(wire)).rejects.toThrow("Overloaded");
    expect(toOpenAi.push('{"type":"message_stop"}')).toBe("");
    const toAnthropic = new AnthropicStreamWriter();
    await expect(readByAnthropic(toAnthropic.push('{"error":{"message":"no"}}'))).rejects.toThrow("no");
    expect(toAnthropic.push("[DONE]")).toBe("");
  });

  it("without an end is an error to an Anthropic client, unless it said why it ended", async () => {
    const chunk = (finish_reason: string | null) =>
      JSON.stringify({ id: "c", model: "m", choices: [{ delta: { content: "x" }, finish_reason }] });
    const cut = new AnthropicStreamWriter();
    await expect(readByAnthropic(cut.push(chunk(null)) + cut.end())).rejects.toThrow("broke off");
    const over = new AnthropicStreamWriter();
    const final = await readByAnthropic(over.push(chunk("length")) + over.end());
    expect([final.stop_reason, over.end()]).toEqual(["max_tokens", ""]);
  });

  it("with calls that all have position 0 keeps them apart by their ids", async () => {
    const writer = new AnthropicStreamWriter();
    const chunks = ["a", "b"].map((id) => ({ index: 0, id, function: { name: "f", arguments: `{"x":"${id}"}` } }));
    const wire = chunks.map((call) =>
      writer.push(JSON.stringify({ id: "c", model: "m", choices: [{ delta: { tool_calls: [call] } }] })),
    );
    const final = await readByAnthropic(wire.join("") + writer.push("[DONE]"));
    expect(final.content).toMatchObject([
      { id: "a", input: { x: "a" } },
      { id: "b", input: { x: "b" } },
    ]);
  });

  it("with pieces of a call that is over is an error, not another answer", async () => {
    const writer = new AnthropicStreamWriter();
    const calls = [
      { index: 0, id: "a", function: { name: "f", arguments: "{" } },
      { index: 1, id: "b", function: { name: "g", arguments: "{" } },
      { index: 0, function: { arguments: "}" } },
    ];
    const wire = calls.map((call) =>
      writer.push(JSON.stringify({ id: "c", model: "m", choices: [{ delta: { tool_calls: [call] } }] })),
    );
    await expect(readByAnthropic(wire.join(""))).rejects.toThrow("mixed the calls");
  });
});
