/** The AI SDK checks every field of what it reads: fixed texts, streams that were ended early, and translated streams pass. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { generateText, streamText } from "ai";
import { describe, expect, it } from "vitest";
import { anthropicAnswer, openAiAnswer } from "@/lib/translate/answers";
import { OpenAiStreamWriter } from "@/lib/translate/openai-stream";
import { AnthropicStreamWriter } from "@/lib/translate/anthropic-stream";
import { SseSplitter } from "../sse";
import { streamObserver } from "./observers";
import type { RouteKind } from "./route-request";
import { staticAnswer } from "./static-answer";

const TEXT = "预算已用尽。 Please try later 🙂";
const fixed = { text: TEXT, model: "gpt-4o", id: "1", createdSeconds: 1_790_000_000, wantsUsage: true };

function wireOf(kind: RouteKind, isStream: boolean): { body: string; contentType: string } {
  const answer = staticAnswer(kind, { ...fixed, isStream });
  if (!answer) throw new Error(kind);
  return answer;
}

/** The model of a route whose every call is answered so. */
function model(kind: RouteKind, { body, contentType }: { body: string; contentType: string }): LanguageModel {
  const fetch = async () => new Response(body, { headers: { "content-type": contentType } });
  const openai = createOpenAI({ apiKey: "k", fetch });
  switch (kind) {
    case "chat":
      return openai.chat("gpt-4o");
    case "completion":
      return openai.completion("gpt-3.5-turbo-instruct");
    case "responses":
      return openai.responses("gpt-4o");
    default:
      return createAnthropic({ apiKey: "k", fetch })("claude-sonnet-4-5");
  }
}

async function streamed(
  kind: RouteKind,
  body: string,
): Promise<{ text: string; finishReason: string; error: unknown }> {
  let error: unknown;
  const wire = { body, contentType: "text/event-stream" };
  const result = streamText({ model: model(kind, wire), prompt: "x", onError: (event) => void (error = event.error) });
  return { text: await result.text, finishReason: await result.finishReason, error };
}

function events(wire: string) {
  return new SseSplitter().push(new TextEncoder().encode(wire));
}

describe("the AI SDK", () => {
  it.each<RouteKind>(["chat", "completion", "responses", "messages"])(
    "takes a fixed text on %s, whole and streamed",
    async (kind) => {
      const whole = await generateText({ model: model(kind, wireOf(kind, false)), prompt: "x" });
      expect([whole.text, whole.finishReason]).toEqual([TEXT, "stop"]);
      expect(await streamed(kind, wireOf(kind, true).body)).toEqual({
        text: TEXT,
        finishReason: "stop",
        error: undefined,
      });
    },
  );

  it.each<[RouteKind, number]>([
    ["chat", 2],
    ["responses", 5],
    ["messages", 3],
  ])("takes a stream of %s that was ended after %i events as cut for length", async (kind, count) => {
    const observer = streamObserver(kind);
    const seen = events(wireOf(kind, true).body).slice(0, count);
    for (const event of seen) observer?.observe(event);
    const end = { inputTokens: 7, outputTokens: 3, wantsUsage: true, note: "budget" };
    const wire = seen.map((event) => new TextDecoder().decode(event.bytes)).join("") + (observer?.endEarly(end) ?? "");
    expect(await streamed(kind, wire)).toEqual({ text: TEXT, finishReason: "length", error: undefined });
  });

  it("takes a translated answer in either shape", async () => {
    const whole = (kind: RouteKind) => JSON.parse(wireOf(kind, false).body) as unknown;
    const contentType = "application/json";
    const chat = { body: JSON.stringify(openAiAnswer(whole("messages"), 1_790_000_000)), contentType };
    const messages = { body: JSON.stringify(anthropicAnswer(whole("chat"))), contentType };
    expect((await generateText({ model: model("chat", chat), prompt: "x" })).text).toBe(TEXT);
    expect((await generateText({ model: model("messages", messages), prompt: "x" })).text).toBe(TEXT);
  });

  it("takes a translated stream in either shape", async () => {
    const toOpenAi = new OpenAiStreamWriter({ createdSeconds: 1_790_000_000, wantsUsage: true });
    const chat = events(wireOf("messages", true).body).map((event) => toOpenAi.push(event.data));
    expect(await streamed("chat", chat.join(""))).toEqual({ text: TEXT, finishReason: "stop", error: undefined });
    const toAnthropic = new AnthropicStreamWriter();
    const messages = events(wireOf("chat", true).body).map((event) => toAnthropic.push(event.data));
    expect(await streamed("messages", messages.join(""))).toEqual({
      text: TEXT,
      finishReason: "stop",
      error: undefined,
    });
  });
});
