/** What the official SDKs make of the answers, streams and errors the gateway writes itself: their own code, no server. */
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { DenialCode } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { GatewayAnswer } from "../../http";
import { toWebResponse } from "../../http";
import { refusalAnswer, upstreamErrorAnswer } from "../error-response";
import { SseSplitter } from "../sse";
import { inShapeOf, passedError, refusalInShapeOf, streamErrorText } from "./error-shapes";
import { streamObserver } from "./observers";
import type { RouteKind } from "./route-request";
import { staticAnswer } from "./static-answer";
import type { StreamObserver } from "./stream-observer";

const encoder = new TextEncoder();
const EVENTS = { headers: { "content-type": "text/event-stream" } };

/** A client whose every call is answered so; counts the calls. */
function openai(answer: () => Response) {
  let calls = 0;
  const fetch = async () => ((calls += 1), answer());
  return { client: new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1/v1", fetch }), calls: () => calls };
}

function anthropic(answer: () => Response) {
  let calls = 0;
  const fetch = async () => ((calls += 1), answer());
  return { client: new Anthropic({ apiKey: "k", baseURL: "http://127.0.0.1", fetch }), calls: () => calls };
}

const TEXT = "预算已用尽。 Please try later 🙂";
const fixed = { text: TEXT, model: "m", id: "1", createdSeconds: 1_790_000_000, wantsUsage: true };
const chatParams = { model: "m", messages: [{ role: "user" as const, content: "x" }] };
const messageParams = { ...chatParams, max_tokens: 10 };

function fixedAnswer(kind: RouteKind, isStream: boolean): Response {
  const answer = staticAnswer(kind, { ...fixed, isStream });
  if (!answer) throw new Error(kind);
  return new Response(answer.body, { headers: { "content-type": answer.contentType } });
}

describe("a fixed text", () => {
  it("is a chat completion, whole and streamed", async () => {
    const whole = await openai(() => fixedAnswer("chat", false)).client.chat.completions.create(chatParams);
    expect(whole.choices[0]?.message.content).toBe(TEXT);
    const { client } = openai(() => fixedAnswer("chat", true));
    const final = await client.chat.completions.stream(chatParams).finalChatCompletion();
    expect(final.choices[0]).toMatchObject({ message: { content: TEXT }, finish_reason: "stop" });
    expect(final.usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  });

  it("is a completion, whole and streamed", async () => {
    const whole = await openai(() => fixedAnswer("completion", false)).client.completions.create({
      model: "m",
      prompt: "x",
    });
    expect(whole.choices[0]?.text).toBe(TEXT);
    const { client } = openai(() => fixedAnswer("completion", true));
    let text = "";
    for await (const part of await client.completions.create({ model: "m", prompt: "x", stream: true }))
      text += part.choices[0]?.text ?? "";
    expect(text).toBe(TEXT);
  });

  it("is a response, whole and streamed", async () => {
    const whole = await openai(() => fixedAnswer("responses", false)).client.responses.create({
      model: "m",
      input: "x",
    });
    expect([whole.output_text, whole.status, whole.usage?.total_tokens]).toEqual([TEXT, "completed", 0]);
    const { client } = openai(() => fixedAnswer("responses", true));
    const final = await client.responses.stream({ model: "m", input: "x" }).finalResponse();
    expect([final.output_text, final.status]).toEqual([TEXT, "completed"]);
  });

  it("is an Anthropic message, whole and streamed", async () => {
    const whole = await anthropic(() => fixedAnswer("messages", false)).client.messages.create(messageParams);
    expect(whole.content).toMatchObject([{ type: "text", text: TEXT }]);
    const { client } = anthropic(() => fixedAnswer("messages", true));
    const final = await client.messages.stream(messageParams).finalMessage();
    expect(final).toMatchObject({ stop_reason: "end_turn", content: [{ text: TEXT }], usage: { output_tokens: 0 } });
  });

  it("is one Gemini chunk, and nothing where the answer is no text", async () => {
    const events = new SseSplitter().push(encoder.encode(await fixedAnswer("gemini", true).text()));
    const data: unknown = JSON.parse(events[0]?.data ?? "");
    expect(data).toMatchObject({ candidates: [{ finishReason: "STOP", content: { parts: [{ text: TEXT }] } }] });
    expect(staticAnswer("embedding", { ...fixed, isStream: false })).toBeUndefined();
    expect(staticAnswer("image", { ...fixed, isStream: false })).toBeUndefined();
  });
});

const end = { inputTokens: 7, outputTokens: 3, wantsUsage: true, note: "budget" };

function textOf(answer: GatewayAnswer): string {
  if (typeof answer.body !== "string") throw new Error("not a text");
  return answer.body;
}

/** The first `count` events of a stream, then its early end; with what the observer saw. */
function cut(kind: RouteKind, wire: string, count: number): { text: string; observer: StreamObserver } {
  const observer = streamObserver(kind);
  if (!observer) throw new Error(kind);
  const events = new SseSplitter().push(encoder.encode(wire)).slice(0, count);
  for (const event of events) observer.observe(event);
  const seen = events.map((event) => new TextDecoder().decode(event.bytes)).join("");
  return { text: seen + observer.endEarly(end), observer };
}

const chunk = (choices: unknown) =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 5, model: "m", choices })}\n\n`;

describe("a stream that is ended early", () => {
  it("is a chat completion cut for length, in every choice still open", async () => {
    const wire = [
      chunk([{ index: 0, delta: { role: "assistant", content: "one" }, finish_reason: null }]),
      chunk([{ index: 1, delta: { role: "assistant", content: "two" }, finish_reason: null }]),
      chunk([{ index: 1, delta: {}, finish_reason: "stop" }]),
    ].join("");
    const { client } = openai(() => new Response(cut("chat", wire, 3).text, EVENTS));
    const final = await client.chat.completions.stream(chatParams).finalChatCompletion();
    expect(final.choices.map((choice) => [choice.message.content, choice.finish_reason])).toEqual([
      ["one", "length"],
      ["two", "stop"],
    ]);
    expect(final.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });

  it("is a whole Anthropic message cut at max_tokens, wherever the cut falls after its start", async () => {
    const wire = await fixedAnswer("messages", true).text();
    for (const count of [1, 2, 3, 4]) {
      const { client } = anthropic(() => new Response(cut("messages", wire, count).text, EVENTS));
      const final = await client.messages.stream(messageParams).finalMessage();
      expect(final).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 3 } });
    }
    expect(cut("messages", wire, 0).text).toBe("");
  });

  it("is an incomplete response with what was made, wherever the cut falls after its start", async () => {
    const wire = await fixedAnswer("responses", true).text();
    for (const [count, text] of [
      [1, ""],
      [3, ""],
      [4, ""],
      [5, TEXT],
      [7, TEXT],
      [8, TEXT],
    ] as const) {
      const { client } = openai(() => new Response(cut("responses", wire, count).text, EVENTS));
      const final = await client.responses.stream({ model: "m", input: "x" }).finalResponse();
      expect([final.status, final.incomplete_details?.reason, final.output_text]).toEqual([
        "incomplete",
        "max_output_tokens",
        text,
      ]);
    }
  });

  it("numbers the events of a response on, and closes a half-written function call", () => {
    const item = {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "f",
      arguments: "",
      status: "in_progress",
    };
    const wire = [
      { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_1", delta: '{"a":' },
    ]
      .map(
        (event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
      )
      .join("");
    const events = new SseSplitter().push(encoder.encode(cut("responses", wire, 3).text));
    const bodies = events.map((event) => JSON.parse(event.data));
    expect(bodies.map((body) => body.sequence_number)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(bodies.slice(3).map((body) => body.type)).toEqual([
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.incomplete",
    ]);
    expect(bodies[5].response.output).toEqual([{ ...item, arguments: '{"a":', status: "incomplete" }]);
  });

  it("is ended once", () => {
    fc.assert(
      fc.property(fc.constantFrom<RouteKind>("chat", "completion", "responses", "messages", "gemini"), (kind) => {
        const observer = streamObserver(kind);
        const answer = staticAnswer(kind, { ...fixed, isStream: true });
        const events = new SseSplitter().push(encoder.encode(answer?.body ?? ""));
        for (const event of events) observer?.observe(event);
        expect(observer).toMatchObject({ isDone: true, hasError: false, hasOutput: true });
        expect(observer?.endEarly(end)).toBe("");
      }),
    );
  });
});

const [protocol, language] = ["openai", "en"] as const;
const context = { protocol, language, requestId: "req_1", budgetStatus: 429, topUpUrl: "https://top.up" };
const budget = {
  budgetId: "b",
  scope: "department" as const,
  consumerId: "c",
  consumerName: "Sales",
  meter: "cost" as const,
  periodKind: "month",
  periodId: "2026-11",
  limit: 5n,
  used: 5n,
  held: 0n,
  currency: "USD",
  resetsAtMs: 0,
};

function refused(code: DenialCode, facts: object = {}) {
  return refusalAnswer(denial(code, facts), context, 0);
}

describe("a refusal on an Anthropic route", () => {
  it.each([
    ["budget_exhausted", { budget }, 402, "billing_error"],
    ["protected_rung", { budget, retryAfterMs: 30_000 }, 429, "rate_limit_error"],
  ] as const)("for money (%s) makes the SDK call once and not sleep", async (code, facts, status, type) => {
    const { client, calls } = anthropic(() =>
      toWebResponse(refusalInShapeOf("anthropic", refused(code, facts)).answer),
    );
    const error: unknown = await client.messages.create(messageParams).catch((caught: unknown) => caught);
    expect(calls()).toBe(1);
    expect(error).toMatchObject({ status, requestID: "req_1" });
    const body = (error as InstanceType<typeof Anthropic.APIError>).error;
    expect(body).toMatchObject({ type: "error", error: { type, budget: { consumer: "Sales" } }, request_id: "req_1" });
  });

  it.each([
    ["invalid_api_key", 401, "authentication_error"],
    ["model_not_allowed", 403, "permission_error"],
    ["model_not_found", 404, "not_found_error"],
    ["invalid_request", 400, "invalid_request_error"],
    ["request_too_large", 413, "request_too_large"],
    ["price_missing", 422, "invalid_request_error"],
    ["method_not_allowed", 405, "invalid_request_error"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["quota_store_unavailable", 503, "overloaded_error"],
  ] as const)("%s has Anthropic's status and type", (code, status, type) => {
    const refusal = refusalInShapeOf("anthropic", refused(code, { retryAfterMs: 1000 }));
    expect(refusal).toMatchObject({ status, code: refused(code).code });
    expect(JSON.parse(textOf(refusal.answer))).toMatchObject({ type: "error", error: { type } });
    // A rate is waited for.
    expect(refusal.answer.headers["retry-after"]).toBe("1");
  });
});

describe("a refusal on an OpenAI route", () => {
  it("for money makes the SDK call once", async () => {
    const { client, calls } = openai(() =>
      toWebResponse(refusalInShapeOf("openai", refused("budget_exhausted", { budget })).answer),
    );
    await expect(client.chat.completions.create(chatParams)).rejects.toMatchObject({
      status: 429,
      code: "DEPARTMENT_BUDGET_EXHAUSTED",
    });
    expect(calls()).toBe(1);
  });
});

describe("a refusal on a Gemini route", () => {
  it("is a google.rpc.Status with reason and delay", () => {
    const { answer } = refusalInShapeOf("gemini", refused("rate_limit_exceeded", { retryAfterMs: 1500 }));
    expect(JSON.parse(textOf(answer))).toMatchObject({
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [{ reason: "rate_limit_exceeded" }, { retryDelay: "1.5s" }],
      },
    });
  });

  it("says an upstream failure in the same shape", () => {
    const answer = upstreamErrorAnswer({ status: 504, code: "upstream_timeout" }, context, 0);
    expect(JSON.parse(textOf(inShapeOf("gemini", answer)))).toMatchObject({
      error: { code: 504, status: "DEADLINE_EXCEEDED" },
    });
  });
});

describe("a mistake the provider found", () => {
  const found = { type: "error", error: { type: "invalid_request_error", message: "max_tokens: 5 > 4" } };

  it("is told in the shape of the route", async () => {
    const { client } = openai(() => toWebResponse(passedError("openai", 400, found, "req_1")));
    await expect(client.chat.completions.create(chatParams)).rejects.toMatchObject({
      status: 400,
      error: { message: "max_tokens: 5 > 4", request_id: "req_1" },
    });
    const other = anthropic(() => toWebResponse(passedError("anthropic", 400, { error: { message: "bad" } }, "req_1")));
    await expect(other.client.messages.create(messageParams)).rejects.toMatchObject({
      status: 400,
      error: { type: "error", error: { type: "invalid_request_error", message: "bad" } },
    });
  });
});

describe("an error inside a stream", () => {
  const trouble = { code: "upstream_error", message: "broke off", requestId: "req_1" };

  it("is thrown by the SDK of the route", async () => {
    const chat = openai(() => new Response(streamErrorText("openai", trouble), EVENTS)).client;
    await expect(chat.chat.completions.stream(chatParams).done()).rejects.toThrow("broke off");
    const messages = anthropic(() => new Response(streamErrorText("anthropic", trouble), EVENTS)).client;
    await expect(messages.messages.stream(messageParams).done()).rejects.toThrow("broke off");
  });

  it("is noticed by the observer of the route", () => {
    for (const [kind, protocol] of [
      ["chat", "openai"],
      ["responses", "responses"],
      ["messages", "anthropic"],
      ["gemini", "gemini"],
      ["image", "openai"],
    ] as const) {
      const observer = streamObserver(kind);
      for (const event of new SseSplitter().push(encoder.encode(streamErrorText(protocol, trouble))))
        observer?.observe(event);
      expect(observer).toMatchObject({ hasError: true, hasOutput: false });
    }
  });
});
