/**
 * What the SDKs do beyond one plain call: their helpers for streams and tools, beta paths, the AI SDK's other kinds of models; and how
 * often each of them asks again when money says no.
 */
import Anthropic from "@anthropic-ai/sdk";
import type { LanguageModel } from "ai";
import {
  embed,
  embedMany,
  experimental_generateSpeech as generateSpeech,
  experimental_transcribe as transcribe,
  generateImage,
  generateObject,
  generateText,
  streamText,
} from "ai";
import OpenAI from "openai";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import type { GatewayHost } from "./host";
import { asking, settled, upstreamCalls, USER } from "./host";
import type { RouteCaller } from "./route-caller";
import { routeCallerOf } from "./route-caller";
import { CLAUDE, expectBooksAgree } from "./route-models";

const prompt = "Say something.";
const TOOL = { type: "object" as const, properties: { city: { type: "string" } } };

export function servesSdkHelpers(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    caller = await routeCallerOf(host());
  });
  const agree = () => expectBooksAgree(host(), caller.made, caller.requestId());

  it("the OpenAI client's helpers of streams, and tools in both ways", async () => {
    const { openai } = caller;
    const chat = openai.chat.completions.stream({ model: "sandbox-small", messages: USER });
    expect((await chat.finalChatCompletion()).choices[0]?.message.content).toMatch(/^w0 w1/u);
    await agree();
    const response = openai.responses.stream({ model: "sandbox-large", input: prompt });
    expect((await response.finalResponse()).output_text).toMatch(/^w0 w1/u);
    await agree();
    const tools = [{ type: "function" as const, function: { name: "weather", parameters: TOOL } }];
    const asked = { model: "sandbox-small", messages: USER, tools, ...asking({ toolCalls: 2 }) };
    const whole = await openai.chat.completions.create(asked);
    await agree();
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    await agree();
    const names = [whole, streamed].map(({ choices }) =>
      choices[0]?.message.tool_calls?.map((one) => (one.type === "function" ? one.function.name : one.type)),
    );
    expect(names).toEqual([
      ["weather", "weather"],
      ["weather", "weather"],
    ]);
  });

  it("Anthropic's plain stream of events, tools, and the beta paths", async () => {
    const { anthropic } = caller;
    const asked = { model: CLAUDE.name, max_tokens: 50, messages: USER };
    const types: string[] = [];
    for await (const event of await anthropic.messages.create({ ...asked, stream: true })) types.push(event.type);
    expect([types[0], types.at(-1)]).toEqual(["message_start", "message_stop"]);
    await agree();
    const tools = [{ name: "weather", input_schema: TOOL }];
    const used = await anthropic.messages.create({ ...asked, tools, ...asking({ toolCalls: 1 }) });
    expect(used.content).toMatchObject([{ type: "tool_use", name: "weather" }]);
    await agree();
    expect((await anthropic.beta.messages.create(asked)).type).toBe("message");
    await agree();
    expect((await anthropic.beta.messages.stream(asked).finalMessage()).type).toBe("message");
    await agree();
    const { max_tokens: _cap, ...counted } = asked;
    expect((await anthropic.beta.messages.countTokens(counted)).input_tokens).toBeGreaterThan(0);
  });

  it("the AI SDK: streams of every shape, completions, many embeddings, speech and what was spoken", async () => {
    const { openai } = caller.ai;
    expect(await streamText({ model: openai("sandbox-large"), prompt }).text).toMatch(/^w0 w1/u);
    await agree();
    expect((await generateText({ model: openai.completion("sandbox-instruct"), prompt })).text).toMatch(/^w0 w1/u);
    await agree();
    expect(await streamText({ model: openai.completion("sandbox-instruct"), prompt }).text).toMatch(/^w0 w1/u);
    await agree();
    const many = await embedMany({ model: openai.embedding("sandbox-embed"), values: ["one", "two"] });
    expect(many.embeddings.map((one) => one.length)).toEqual([256, 256]);
    await agree();
    const { audio } = await generateSpeech({ model: openai.speech("sandbox-tts"), text: "Hello", voice: "alloy" });
    expect(audio.uint8Array.length).toBeGreaterThan(0);
    await agree();
    const heard = await transcribe({ model: openai.transcription("sandbox-whisper"), audio: Buffer.alloc(40_000) });
    expect(heard.text.length).toBeGreaterThan(0);
    await agree();
  });
}

export function refusesSdksOnce(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    caller = await routeCallerOf(host(), { budgets: { organisation: 1n } });
  });

  /** What it was refused with, and how many requests that took. */
  async function refused(ask: () => Promise<unknown>): Promise<{ error: unknown; requests: number }> {
    const before = caller.sent();
    const error = await ask().then(
      () => "served",
      (thrown: unknown) => thrown,
    );
    return { error, requests: caller.sent() - before };
  }

  it("a money refusal is one request of each client, whole and streamed, with its own class of error", async () => {
    const { openai, anthropic } = caller;
    const sentBefore = await upstreamCalls(host());
    const chat = { model: "sandbox-small", messages: USER };
    const message = { model: CLAUDE.name, max_tokens: 50, messages: USER };
    const ofOpenAi: readonly (() => Promise<unknown>)[] = [
      () => openai.chat.completions.create(chat),
      () => openai.chat.completions.create({ ...chat, stream: true }),
      () => openai.responses.create({ model: "sandbox-large", input: prompt }),
      () => openai.responses.create({ model: "sandbox-large", input: prompt, stream: true }),
      () => openai.embeddings.create({ model: "sandbox-embed", input: prompt }),
      () => openai.images.generate({ model: "sandbox-dalle", prompt, size: "1024x1024" }),
    ];
    const ofAnthropic: readonly (() => Promise<unknown>)[] = [
      () => anthropic.messages.create(message),
      () => anthropic.messages.create({ ...message, stream: true }),
      () => anthropic.messages.stream(message).finalMessage(),
      () => anthropic.beta.messages.create(message),
    ];
    for (const ask of ofOpenAi) {
      const { error, requests } = await refused(ask);
      expect([requests, error]).toEqual([1, expect.any(OpenAI.RateLimitError)]);
    }
    for (const ask of ofAnthropic) {
      const { error, requests } = await refused(ask);
      expect([requests, error]).toEqual([1, expect.any(Anthropic.APIError)]);
      expect(error).toMatchObject({ status: 402 });
    }
    expect(await upstreamCalls(host())).toBe(sentBefore);
    expect(await settled(host(), caller.made)).toEqual({ settled: 0n, held: 0n });
  });

  it("the AI SDK, which asks again after every 429, is told so that it stops at once, whatever it asks for", async () => {
    const { openai, anthropic } = caller.ai;
    const sentBefore = await upstreamCalls(host());
    const schema = z.object({ text: z.string() });
    const streamed = async (model: LanguageModel): Promise<void> => {
      const errors: unknown[] = [];
      const { text } = streamText({ model, prompt, onError: ({ error }) => void errors.push(error) });
      await text.then(
        () => undefined,
        () => undefined,
      );
      throw errors[0];
    };
    const models: readonly LanguageModel[] = [
      openai("sandbox-small"),
      openai.chat("sandbox-small"),
      openai.completion("sandbox-instruct"),
      anthropic(CLAUDE.name),
    ];
    const asks: readonly (() => Promise<unknown>)[] = [
      ...models.map((model) => () => generateText({ model, prompt })),
      ...models.map((model) => () => streamed(model)),
      () => generateObject({ model: openai("sandbox-small"), schema, prompt }),
      () => embed({ model: openai.embedding("sandbox-embed"), value: prompt }),
      () => embedMany({ model: openai.embedding("sandbox-embed"), values: [prompt] }),
      () => generateImage({ model: openai.image("sandbox-image"), prompt }),
      () => generateSpeech({ model: openai.speech("sandbox-tts"), text: prompt, voice: "alloy" }),
      () => transcribe({ model: openai.transcription("sandbox-whisper"), audio: Buffer.alloc(40_000) }),
    ];
    for (const ask of asks) {
      const { error, requests } = await refused(ask);
      expect([requests, error]).toMatchObject([1, { statusCode: 402 }]);
    }
    expect(await upstreamCalls(host())).toBe(sentBefore);
  });
}
