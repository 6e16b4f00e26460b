/**
 * Random calls on every route, with random answers of the upstream and clients that leave: no error is ours, every reservation
 * ends exactly once, and every refusal is an error object.
 */
import { isByteStream, webStreamOf } from "./byte-stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createGatewayCore } from "./handler";
import type { GatewayAnswer } from "./http";
import type { ScriptedAnswer } from "./testing/world";
import { MODELS, SECRET, world } from "./testing/world";

const ROUTES: readonly (readonly [path: string, kind: string, body: Readonly<Record<string, unknown>>])[] = [
  ["chat/completions", "chat", { messages: [{ role: "user", content: "hi" }] }],
  ["responses", "chat", { input: "x" }],
  ["completions", "completion", { prompt: "x" }],
  ["embeddings", "embedding", { input: "x" }],
  ["moderations", "moderation", { input: "x" }],
  ["rerank", "rerank", { query: "x", documents: ["a"] }],
  ["images/generations", "image", { prompt: "x", size: "1024x1024", quality: "hd" }],
  ["audio/speech", "speech", { input: "x", voice: "a" }],
  ["messages", "chat", { max_tokens: 5, messages: [{ role: "user", content: "hi" }] }],
  ["messages/count_tokens", "chat", { messages: [{ role: "user", content: "hi" }] }],
  ["models/MODEL:generateContent", "chat", { contents: [{ role: "user", parts: [{ text: "x" }] }] }],
  ["models/MODEL:streamGenerateContent?alt=sse", "chat", { contents: [{ role: "user", parts: [{ text: "x" }] }] }],
];

const NAMES = [
  ...["stream", "stream_options", "n", "max_tokens", "tools", "service_tier", "modalities", "web_search_options"],
  ...["system", "thinking", "metadata", "stop", "user", "generationConfig", "generation_config", "best_of", "echo"],
  ...["previous_response_id", "background", "cache_control", "prediction", "stream_format", "__proto__", "toString"],
];
const VALUES = [
  ...[null, true, -1, 0, 1, 3, 0.5, "", "x", "auto", "sse", [], {}, [1], [{}], { type: "text" }],
  ...[["text", "audio"], { include_usage: true }, [{ type: "web_search" }], [{ type: "function", name: "f" }]],
];
const USAGES = [
  { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
  { prompt_tokens: 3, completion_tokens: 1, total_tokens: 99 },
  { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2 },
  { input_tokens: 5, output_tokens: 3, server_tool_use: { web_search_requests: 2 } },
  ...[{ prompt_tokens: -1 }, { prompt_tokens: 1e300 }, { type: "duration", seconds: 3 }, {}, null, "x"],
];

const answerJson = fc.constantFrom(...USAGES).chain((usage) =>
  fc.constantFrom<unknown[]>(
    {
      id: "x",
      choices: [{ index: 0, message: { content: "hi" }, delta: { content: "hi" }, finish_reason: "stop" }],
      usage,
    },
    { id: "x", type: "message", content: [{ type: "text", text: "hi" }], stop_reason: "end_turn", usage },
    { type: "message_start", message: { id: "m", usage } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "response.completed", response: { id: "r", output: [], usage } },
    { candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }], usageMetadata: usage },
    { data: [], usage },
    { error: { message: "x", code: "context_length_exceeded" } },
    ...[[], null, "x"],
  ),
);
const jsonText = fc.oneof(
  { weight: 5, arbitrary: answerJson.map((value) => JSON.stringify(value)) },
  fc.constantFrom("", "{", "{}"),
);
const eventsText = fc
  .array(
    fc.oneof(
      jsonText.map((text) => `data: ${text}\n\n`),
      fc.constantFrom("data: [DONE]\n\n", ": c\n\n", "data: {"),
    ),
    { maxLength: 6 },
  )
  .map((events) => events.join(""));

const scripted: fc.Arbitrary<ScriptedAnswer> = fc
  .record({
    fails: fc.oneof(
      { weight: 8, arbitrary: fc.constant(null) },
      fc.constantFrom("unserved" as const, "unknown" as const),
    ),
    status: fc.oneof(
      { weight: 6, arbitrary: fc.constant(200) },
      fc.constantFrom(400, 401, 402, 404, 408, 422, 429, 500, 503),
    ),
    isEvents: fc.boolean(),
    breaksAt: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, fc.integer({ min: 0, max: 100 })),
    json: jsonText,
    events: eventsText,
  })
  .map(({ json, events, ...rest }) => ({ ...rest, text: rest.isEvents ? events : json }));

const call = fc.constantFrom(...ROUTES).chain(([path, kind, body]) =>
  fc.record({
    path: fc.constant(path),
    body: fc.constant(body),
    model: fc.constantFrom(...MODELS.filter((model) => model.kind === kind).map((model) => model.name)),
    changes: fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom<unknown[]>(...VALUES)), { maxLength: 3 }),
    answers: fc.array(scripted, { minLength: 1, maxLength: 3 }),
    /** Parts the client takes before it leaves. */
    patience: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 3 })),
  }),
);

async function take(answer: GatewayAnswer, patience: number): Promise<void> {
  if (!isByteStream(answer.body)) return;
  const reader = webStreamOf(answer.body).getReader();
  for (let taken = 0; ; taken += 1) {
    if (taken >= patience) return reader.cancel();
    if ((await reader.read()).done) return undefined;
  }
}

/** Nothing here waits for time: what has not happened after some turns of the loop never will. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

it("no call is our fault, and every reservation ends once", async () => {
  await fc.assert(
    fc.asyncProperty(call, async ({ path, body, model, changes, answers, patience }) => {
      const { deps, faults, ends } = world(answers);
      const isGemini = path.startsWith("models/");
      const whole = Object.fromEntries([
        ...Object.entries(body),
        ...(isGemini ? [] : [["model", model]]),
        ...changes,
      ]) as object;
      const bytes = new TextEncoder().encode(JSON.stringify(whole));
      const pending: Promise<unknown>[] = [];
      const answer = await createGatewayCore(deps)(
        {
          method: "POST",
          url: `/v1/${path.replace("MODEL", model)}`,
          headers: { get: (name) => (name === "authorization" ? `Bearer ${SECRET}` : null) },
          bytes: () => Promise.resolve(bytes),
          chunks: async function* () {
            yield await Promise.resolve(bytes);
          },
          signal: new AbortController().signal,
        },
        { waitUntil: (promise) => pending.push(promise) },
      );
      // Sound that breaks off has no other way to say so.
      await take(answer, patience).catch(() => undefined);
      await Promise.race([Promise.all(pending), turns(20)]);
      expect(faults).toEqual([]);
      expect([...ends.values()].filter((count) => count !== 1)).toEqual([]);
      if (answer.status >= 400) expect(answer.body).toMatch(/^\{"(type":"error",")?error":|"error":/u);
    }),
    { numRuns: 3000 },
  );
}, 60_000);
