import { describe, expect, it } from "vitest";
import { SseSplitter } from "../sse";
import { readAnswer } from "./answer-reading";
import { streamObserver } from "./observers";
import type { RouteKind } from "./route-request";

const encoder = new TextEncoder();

/** Feeds bodies as events; "named" writes the event line too. */
function observed(kind: RouteKind, bodies: readonly unknown[], tail = "") {
  const observer = streamObserver(kind);
  if (!observer) throw new Error(kind);
  const wire = bodies.map((body) => `data: ${JSON.stringify(body)}\n\n`).join("") + tail;
  const hidden = new SseSplitter().push(encoder.encode(wire)).map((event) => observer.observe(event));
  return { observer, hidden };
}

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

describe("usage of a stream, raw", () => {
  it("of chat is the chunk without choices, which is hidden, and the end is [DONE]", () => {
    const delta = { choices: [{ index: 0, delta: { content: "你好" } }], usage: null };
    const { observer, hidden } = observed("chat", [delta, { choices: [], usage: USAGE }], "data: [DONE]\n\n");
    expect(observer).toMatchObject({ usage: USAGE, isDone: true, hasOutput: true, outputPieces: 1, outputBytes: 6 });
    expect(hidden).toEqual([false, true, false]);
  });

  it("of chat may come on every chunk (vLLM), in the last choice (Moonshot), or from Groq's own spot", () => {
    const running = [1, 2].map((completion_tokens) => ({
      choices: [{ index: 0, delta: { content: "a" } }],
      usage: { ...USAGE, completion_tokens },
    }));
    expect(observed("chat", running)).toMatchObject({
      observer: { usage: { completion_tokens: 2 } },
      hidden: [false, false],
    });
    expect(observed("chat", [{ choices: [{ index: 0, delta: {}, usage: USAGE }] }]).observer.usage).toEqual(USAGE);
    expect(observed("chat", [{ choices: [], x_groq: { usage: USAGE } }]).observer.usage).toEqual(USAGE);
  });

  it("of Azure's first chunk is none, and that chunk is not hidden", () => {
    const { observer, hidden } = observed("chat", [{ choices: [], prompt_filter_results: [] }]);
    expect([observer.usage, observer.hasOutput, hidden]).toEqual([undefined, false, [false]]);
  });

  it("of chat counts tool calls and reasoning as output", () => {
    const call = { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } }] };
    const thought = { choices: [{ delta: { reasoning_content: "hm" } }] };
    expect(observed("chat", [call, thought]).observer.outputPieces).toBe(2);
  });

  it("of Anthropic is cumulative: the last counts stand, the input of the start is kept", () => {
    const { observer } = observed("messages", [
      {
        type: "message_start",
        message: { usage: { input_tokens: 120, cache_read_input_tokens: 15_000, output_tokens: 1 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } },
      { type: "message_delta", delta: {}, usage: { output_tokens: 10, input_tokens: null } },
      { type: "ping" },
      { type: "message_delta", delta: {}, usage: { output_tokens: 25 } },
      { type: "message_stop" },
    ]);
    expect(observer).toMatchObject({
      usage: { input_tokens: 120, cache_read_input_tokens: 15_000, output_tokens: 25 },
      isDone: true,
      outputBytes: 2,
    });
  });

  it("of Anthropic keeps its input where the stream broke, and is not done", () => {
    const start = { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } };
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(observed("messages", [start, overloaded]).observer).toMatchObject({
      usage: { input_tokens: 5 },
      hasError: true,
      hasOutput: false,
      isDone: false,
    });
  });

  it("of Gemini is the last metadata", () => {
    const part = (text: string, count: number, more: object = {}) => ({
      candidates: [{ content: { parts: [{ text }] }, ...more }],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: count },
    });
    const { observer } = observed("gemini", [part("a", 1), part("b", 2, { finishReason: "STOP" })]);
    expect(observer).toMatchObject({ usage: { candidatesTokenCount: 2 }, isDone: true, outputBytes: 2 });
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 4 } };
    expect(observed("gemini", [blocked]).observer).toMatchObject({ isDone: true, hasOutput: false });
  });

  it.each(["response.completed", "response.incomplete"])("of responses is in %s", (type) => {
    const usage = { input_tokens: 3, output_tokens: 2 };
    const delta = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "hi" };
    expect(observed("responses", [delta, { type, response: { usage } }]).observer).toMatchObject({
      usage,
      isDone: true,
      hasError: false,
      hasOutput: true,
    });
  });

  it("of a failed response is kept with its error", () => {
    const failed = {
      type: "response.failed",
      response: { usage: { input_tokens: 3 }, error: { code: "server_error" } },
    };
    expect(observed("responses", [failed]).observer).toMatchObject({
      hasError: true,
      isDone: true,
      usage: { input_tokens: 3 },
    });
  });

  it.each([
    ["image", { type: "image_generation.completed", b64_json: "aaaa", usage: { output_tokens: 5 } }],
    ["image", { type: "image_edit.completed", b64_json: "aaaa", usage: { output_tokens: 5 } }],
    ["speech", { type: "speech.audio.done", usage: { output_tokens: 5 } }],
    ["transcription", { type: "transcript.text.done", text: "x", usage: { output_tokens: 5 } }],
  ] as const)("of %s is in its last event", (kind, event) => {
    expect(observed(kind, [event]).observer).toMatchObject({ usage: { output_tokens: 5 }, isDone: true });
  });

  it("of a transcript that is ended early holds what was heard; half a picture cannot be ended", () => {
    const end = { inputTokens: 1, outputTokens: 2, wantsUsage: true, note: null };
    const { observer } = observed("transcription", [{ type: "transcript.text.delta", delta: "so far" }]);
    const [event] = new SseSplitter().push(encoder.encode(observer.endEarly(end)));
    expect(JSON.parse(event?.data ?? "")).toMatchObject({ type: "transcript.text.done", text: "so far" });
    expect(observed("image", []).observer.endEarly(end)).toBe("");
  });

  it("ignores what is no JSON and what has the wrong type", () => {
    const observer = streamObserver("chat");
    const wire = 'data: {oops\n\n: ping\n\ndata: 5\n\ndata: {"choices":{},"usage":[]}\n\ndata: {"choices":[null]}\n\n';
    for (const event of new SseSplitter().push(encoder.encode(wire))) expect(observer?.observe(event)).toBe(false);
    expect(observer).toMatchObject({ usage: undefined, hasOutput: false, isDone: false, hasError: false });
  });
});

describe("a whole answer", () => {
  const read = (body: unknown) => readAnswer(encoder.encode(JSON.stringify(body)));

  it("says its raw usage in any shape", () => {
    expect(read({ choices: [], usage: USAGE }).usage).toEqual(USAGE);
    expect(read({ usageMetadata: { promptTokenCount: 1 } }).usage).toEqual({ promptTokenCount: 1 });
    expect(read([{ usageMetadata: { a: 1 } }, { usageMetadata: { a: 2 } }, {}]).usage).toEqual({ a: 2 });
  });

  it("without usage counts by its text", () => {
    expect(read({ choices: [{ message: { content: "你好" } }] }).outputBytes).toBe(6);
    expect(read({ content: [{ type: "text", text: "abc" }] }).outputBytes).toBe(3);
    expect(read({ candidates: [{ content: { parts: [{ text: "abcd" }] } }] }).outputBytes).toBe(4);
    expect(read({ output: [{ type: "message", content: [{ text: "ab" }] }] }).outputBytes).toBe(2);
    expect(readAnswer(encoder.encode("1\n00:00 --> 00:01\nhi")).outputBytes).toBe(20);
  });

  it("is an error only without output", () => {
    expect(read({ error: { message: "x" } }).isError).toBe(true);
    expect(read({ type: "error", error: { type: "api_error" } }).isError).toBe(true);
    expect(read({ error: null, output: [{ content: [{ text: "a" }] }] }).isError).toBe(false);
  });
});
