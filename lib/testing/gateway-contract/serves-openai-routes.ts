/** OpenAI's routes through its own client and the AI SDK: what they answer, and that ledger and bill agree to the nano. */
import { embed, generateImage, generateText, streamText } from "ai";
import { toFile } from "openai";
import { beforeAll, expect, it } from "vitest";
import type { GatewayHost } from "./host";
import { asking, post, raw, settled } from "./host";
import type { RouteCaller } from "./route-caller";
import { routeCallerOf } from "./route-caller";
import { expectBooksAgree } from "./route-models";

const USAGE = { promptTokens: 100, cachedTokens: 60, completionTokens: 20, reasoningTokens: 5 };
/** 2.5 seconds to the sandbox. */
const audio = () => toFile(Buffer.alloc(40_000), "speech.mp3");
const picture = () => toFile(Buffer.from("not looked at"), "a.png", { type: "image/png" });

export function servesOpenAiRoutes(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    caller = await routeCallerOf(host());
  });
  const agree = (options: { isEstimated?: boolean } = {}) =>
    expectBooksAgree(host(), caller.made, caller.requestId(), options);

  it("responses, whole and streamed", async () => {
    const asked = { model: "sandbox-large", input: "Say something.", ...asking(USAGE) };
    const response = await caller.openai.responses.create(asked);
    expect(response.usage).toMatchObject({ input_tokens: 100, output_tokens: 20 });
    expect(await agree()).toBe(40n * 2_500n + 60n * 1_250n + 20n * 10_000n);
    const types: string[] = [];
    for await (const event of await caller.openai.responses.create({ ...asked, stream: true })) types.push(event.type);
    expect([types[0], types.at(-1)]).toEqual(["response.created", "response.completed"]);
    expect(await agree()).toBe(375_000n);
  });

  it("completions, whole and streamed, with and without a usage chunk", async () => {
    const asked = { model: "sandbox-instruct", prompt: "Say", max_tokens: 8, ...asking({ promptTokens: 7 }) };
    const answer = await caller.openai.completions.create(asked);
    expect(answer.usage?.prompt_tokens).toBe(7);
    await agree();
    let chunks = 0;
    let empty = 0;
    for await (const chunk of await caller.openai.completions.create({ ...asked, stream: true })) {
      chunks += 1;
      if (chunk.choices.length === 0) empty += 1;
    }
    expect([chunks > 1, empty]).toEqual([true, 0]);
    await agree();
  });

  it("chat with sound and a written cache, each at its own rate", async () => {
    await caller.openai.chat.completions.create({
      model: "sandbox-omni",
      messages: [{ role: "user", content: "Sing" }],
      modalities: ["text", "audio"],
      audio: { voice: "alloy", format: "wav" },
      max_completion_tokens: 100,
      ...asking({ promptTokens: 100, cacheWriteTokens: 30, completionTokens: 50, audioOutputTokens: 40 }),
    });
    await agree();
  });

  it("images by the token and by the picture, drawn, edited and streamed", async () => {
    const asked = { model: "sandbox-image", prompt: "A dot", size: "1024x1024" as const, quality: "low" as const };
    const drawn = await caller.openai.images.generate({ ...asked, n: 2 });
    expect(drawn.data).toHaveLength(2);
    await agree();
    const edited = await caller.openai.images.edit({ ...asked, image: [await picture(), await picture()] });
    expect(edited.usage?.input_tokens_details.image_tokens).toBeGreaterThan(0);
    await agree();
    const types: string[] = [];
    const stream = await caller.openai.images.generate({ ...asked, stream: true, partial_images: 1 });
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe("image_generation.completed");
    await agree();
    const dalle = { model: "sandbox-dalle", prompt: "A dot", size: "1024x1792", quality: "hd", n: 2 } as const;
    await caller.openai.images.generate(dalle);
    expect(await agree()).toBe(240_000_000n);
  });

  it("transcriptions by the second and by the token, translations, as JSON and as text", async () => {
    const file = await audio();
    const heard = await caller.openai.audio.transcriptions.create({ model: "sandbox-whisper", file });
    expect(heard.text).toMatch(/^w0 w1/u);
    expect(await agree()).toBe(300_000n);
    const asked = { model: "sandbox-transcribe", file, prompt: "Budget talk" };
    await caller.openai.audio.transcriptions.create(asked);
    await agree();
    let last = "";
    for await (const event of await caller.openai.audio.transcriptions.create({ ...asked, stream: true }))
      last = event.type;
    expect(last).toBe("transcript.text.done");
    await agree();
    const translated = await caller.openai.audio.translations.create({
      model: "sandbox-whisper",
      file,
      response_format: "verbose_json",
    });
    expect(translated).toMatchObject({ language: "english" });
  });

  it("sound whose length no answer says is booked by the file, estimated", async () => {
    const file = await audio();
    const text = await caller.openai.audio.transcriptions.create({
      model: "sandbox-whisper",
      file,
      response_format: "text",
    });
    expect(text).toMatch(/^w0 w1/u);
    await host().bench.book(caller.made.organisationId);
    const line = async () => {
      await host().bench.book(caller.made.organisationId);
      return (await host().bench.ledger(caller.made.organisationId)).find(
        (one) => one.requestId === caller.requestId(),
      );
    };
    await expect.poll(async () => (await line())?.isEstimated).toBe(true);
  });

  it("speech by the character, and by the token in a stream of events", async () => {
    const spoken = await caller.openai.audio.speech.create({
      model: "sandbox-tts",
      voice: "alloy",
      input: "预算用完了🌊",
    });
    expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
    expect((await spoken.arrayBuffer()).byteLength).toBeGreaterThan(0);
    expect(await agree()).toBe(90_000n);
    const asked = { model: "sandbox-speech", voice: "alloy", input: "Hello there", stream_format: "sse" } as const;
    const events = await (
      await caller.openai.audio.speech.create({ ...asked, ...asking({ completionTokens: 4 }) })
    ).text();
    expect(events).toContain("speech.audio.done");
    expect(await agree()).toBe(3n * 600n + 4n * 12_000n);
  });

  it("speech is passed on as it comes; who leaves in the middle leaves nothing held", async () => {
    const body = { model: "sandbox-tts", voice: "alloy", input: "x".repeat(4000) };
    const answer = await raw(host(), "/audio/speech", post(caller.made.apiKey.secret, JSON.stringify(body)));
    const reader = answer.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    await reader?.cancel();
    await expect.poll(async () => (await settled(host(), caller.made)).held).toBe(0n);
  });

  it("moderations and rerank, by the unit and by the token", async () => {
    const moderated = await caller.openai.moderations.create({ model: "sandbox-moderation", input: "I will kill it" });
    expect(moderated.results[0]?.flagged).toBe(true);
    const rank = (model: string) =>
      caller.openai.post("/rerank", { body: { model, query: "water", documents: ["water", "wine"] } });
    expect(await rank("sandbox-rerank")).toMatchObject({ results: [{ index: 0 }, { index: 1 }] });
    expect(await agree()).toBe(2_000_000n);
    await rank("sandbox-rerank-tokens");
    await agree();
  });

  it("a path with a price of its own, at that price; one without is not forwarded", async () => {
    const body = JSON.stringify({ model: "sandbox-large", input: "How long is this?" });
    const answer = await raw(host(), "/responses/input_tokens", post(caller.made.apiKey.secret, body));
    expect(await answer.json()).toMatchObject({ input_tokens: expect.any(Number) as number });
    expect(answer.headers.get("x-spillway-cost")).toBe("0.001");
    const other = await raw(host(), "/videos", post(caller.made.apiKey.secret, body));
    expect(other.status).toBe(404);
  });

  it("the AI SDK: text, streams, embeddings, pictures", async () => {
    const { openai } = caller.ai;
    const prompt = "Say something.";
    expect((await generateText({ model: openai("sandbox-small"), prompt })).text).toMatch(/^w0 w1/u);
    await agree();
    expect((await generateText({ model: openai.chat("sandbox-small"), prompt })).usage.inputTokens).toBeGreaterThan(0);
    await agree();
    expect(await streamText({ model: openai.chat("sandbox-small"), prompt }).text).toMatch(/^w0 w1/u);
    await agree();
    expect((await embed({ model: openai.embedding("sandbox-embed"), value: "text" })).embedding.length).toBe(256);
    const { image } = await generateImage({ model: openai.image("sandbox-image"), prompt: "A dot" });
    expect(image.mediaType).toBe("image/png");
    await agree();
  });
}
