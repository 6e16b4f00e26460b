import { randomUUID } from "node:crypto";
import { inflateSync } from "node:zlib";
import { createOpenAI } from "@ai-sdk/openai";
import { experimental_generateSpeech, experimental_transcribe, generateImage } from "ai";
import OpenAI, { BadRequestError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../server";
import { billLine, tagged } from "../testing/client";

let sandbox: Sandbox;
let client: OpenAI;
beforeAll(async () => {
  sandbox = await startSandbox({ recordRequests: true });
  client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
});
afterAll(() => sandbox.close());

/** 2.5 seconds where nothing says otherwise: 16,000 bytes a second. */
const audio = () => toFile(Buffer.alloc(40_000), "speech.mp3");
const picture = (name: string) => toFile(Buffer.from("not looked at"), name, { type: "image/png" });

describe("images", () => {
  const asked = { model: "sandbox-image", prompt: "A blue dot", size: "1024x1024" as const, quality: "low" as const };

  it("of a model charged by the token have a usage, and are real pictures", async () => {
    const tag = randomUUID();
    const answer = await client.images.generate({ ...asked, n: 2 }, tagged(tag));
    expect(answer.usage).toEqual({
      input_tokens: 3,
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens: 544,
      output_tokens_details: { image_tokens: 544, text_tokens: 0 },
      total_tokens: 547,
    });
    const png = Buffer.from(answer.data?.[0]?.b64_json ?? "", "base64");
    expect(png.subarray(0, 8)).toEqual(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
    const data = png.indexOf("IDAT");
    expect(inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)))).toHaveLength(4);
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: String(3 * 5_000 + 544 * 40_000) });
  });

  it("of a model charged by the picture have none, and cost by size and quality", async () => {
    const tag = randomUUID();
    const dalle = { model: "sandbox-dalle", prompt: "A blue dot", size: "1024x1792", quality: "hd", n: 2 } as const;
    const answer = await client.images.generate(dalle, tagged(tag));
    expect(answer).not.toHaveProperty("usage");
    expect(answer.data?.map((image) => image.url)).toHaveLength(2);
    expect(await billLine(sandbox, tag)).toMatchObject({
      amountNanos: "240000000",
      extras: { images: 2, imageKind: "hd/1024x1792" },
    });
  });

  it("are edited from uploads, which cost more input", async () => {
    const tag = randomUUID();
    const image = [await picture("a.png"), await picture("b.png")];
    const answer = await client.images.edit({ ...asked, image, input_fidelity: "high" }, tagged(tag));
    expect(answer.usage?.input_tokens_details).toEqual({ text_tokens: 3, image_tokens: 2 * 4_483 });
    const amountNanos = String(3 * 5_000 + 8_966 * 10_000 + 272 * 40_000);
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos, extras: { imageInputTokens: 8_966 } });
  });

  it("stream with partial images that cost, and a usage in the last event", async () => {
    const tag = randomUUID();
    const stream = await client.images.generate({ ...asked, stream: true, partial_images: 2 }, tagged(tag));
    const events: OpenAI.ImageGenStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.type)).toEqual([
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 272 + 200 } });
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 472, stream: true });
    const edits = await client.images.edit({ ...asked, image: await picture("a.png"), stream: true });
    const types = [];
    for await (const event of edits) types.push(event.type);
    expect(types).toEqual(["image_edit.completed"]);
  });

  it("are refused without a prompt, without a picture to edit, and in a size nobody sells", async () => {
    await expect(client.images.generate({ ...asked, prompt: "" })).rejects.toMatchObject({ param: "prompt" });
    const size = "77x77" as "1024x1024";
    await expect(client.images.generate({ ...asked, size })).rejects.toMatchObject({ param: "size" });
    const form = { ...asked, image: "none" as unknown as File };
    await expect(client.images.edit(form)).rejects.toBeInstanceOf(BadRequestError);
  });
});

describe("transcriptions", () => {
  it("of a model charged by the second bill begun seconds, in every format", async () => {
    const model = "sandbox-whisper";
    const file = await audio();
    const tags = Array.from({ length: 5 }, () => randomUUID());
    const json = await client.audio.transcriptions.create({ model, file }, tagged(tags[0] ?? ""));
    expect(json).toMatchObject({ text: expect.stringMatching(/^w0 w1/), usage: { type: "duration", seconds: 3 } });
    const verbose = await client.audio.transcriptions.create(
      { model, file, response_format: "verbose_json" },
      tagged(tags[1] ?? ""),
    );
    expect(verbose).toMatchObject({ duration: 2.5, language: "english", usage: { type: "duration", seconds: 3 } });
    const text = (format: "text" | "srt" | "vtt", tag = "") =>
      client.audio.transcriptions.create({ model, file, response_format: format }, tagged(tag));
    expect(await text("text", tags[2])).toMatch(/^w0 w1.* w15\n$/);
    expect(await text("srt", tags[3])).toMatch(/^1\n00:00:00,000 --> 00:00:02,500\nw0 /);
    expect(await text("vtt", tags[4])).toMatch(/^WEBVTT\n\n00:00:00\.000 --> 00:00:02\.500\n/);
    for (const tag of tags) {
      expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: "300000", extras: { seconds: 3 } });
    }
  });

  it("of a model charged by the token tell audio from text, whole and streamed", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const asked = { model: "sandbox-transcribe", file: await audio(), prompt: "Budget talk" };
    const usage = {
      type: "tokens",
      input_tokens: 33,
      input_token_details: { text_tokens: 3, audio_tokens: 30 },
      output_tokens: 16,
      total_tokens: 49,
    };
    const whole = await client.audio.transcriptions.create(asked, tagged(tags[0]));
    expect(whole).toMatchObject({ usage });
    const stream = await client.audio.transcriptions.create({ ...asked, stream: true }, tagged(tags[1]));
    let deltas = "";
    let last: OpenAI.Audio.TranscriptionStreamEvent | undefined;
    for await (const event of stream) {
      if (event.type === "transcript.text.delta") deltas += event.delta;
      last = event;
    }
    expect(last).toMatchObject({ type: "transcript.text.done", text: deltas, usage });
    for (const tag of tags) {
      expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: String(3 * 2_500 + 30 * 6_000 + 16 * 10_000) });
    }
  });

  it("know the length of a WAV file by its header", async () => {
    const spoken = await client.audio.speech.create(
      { model: "sandbox-speech", voice: "alloy", input: "Hello", response_format: "wav" },
      tagged(randomUUID(), { completionTokens: 400 }),
    );
    const file = await toFile(Buffer.from(await spoken.arrayBuffer()), "speech.wav");
    const heard = await client.audio.transcriptions.create({ model: "sandbox-whisper", file });
    expect(heard.usage).toEqual({ type: "duration", seconds: 2 });
  });

  it("translate without a word of usage, billed by the second", async () => {
    const tag = randomUUID();
    const asked = { model: "sandbox-whisper", file: await audio() };
    expect(Object.keys(await client.audio.translations.create(asked, tagged(tag)))).toEqual(["text"]);
    const verbose = await client.audio.translations.create({ ...asked, response_format: "verbose_json" });
    expect(verbose).toMatchObject({ duration: 2.5, language: "english" });
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: "300000" });
  });

  it("are refused without a file, and in a format that the model does not have", async () => {
    const file = await audio();
    const asked = { model: "sandbox-transcribe", file, response_format: "srt" as const };
    await expect(client.audio.transcriptions.create(asked)).rejects.toMatchObject({ param: "response_format" });
    const none = "none" as unknown as File;
    await expect(client.audio.transcriptions.create({ model: "sandbox-whisper", file: none })).rejects.toMatchObject({
      param: "file",
    });
  });
});

describe("speech", () => {
  it("of a model charged by the character counts characters, not bytes", async () => {
    const tag = randomUUID();
    const input = "预算用完了🌊";
    const asked = { model: "sandbox-tts", voice: "alloy", input } as const;
    const spoken = await client.audio.speech.create(asked, tagged(tag));
    expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
    expect((await spoken.arrayBuffer()).byteLength).toBeGreaterThan(0);
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: String(6 * 15_000), extras: { characters: 6 } });
  });

  it("of a model charged by the token streams audio, and its usage at the end", async () => {
    const tag = randomUUID();
    const asked = { model: "sandbox-speech", voice: "alloy", input: "Hello there", stream_format: "sse" } as const;
    const text = await (await client.audio.speech.create(asked, tagged(tag, { completionTokens: 4 }))).text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map((match): { type: string } => JSON.parse(match[1] ?? ""));
    expect(events.map((event) => event.type)).toEqual([
      ...Array.from({ length: 4 }, () => "speech.audio.delta"),
      "speech.audio.done",
    ]);
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } });
    expect(await billLine(sandbox, tag)).toMatchObject({ amountNanos: String(3 * 600 + 4 * 12_000), stream: true });
  });

  it("is refused when it is too long, and as events where the model has none", async () => {
    const asked = { model: "sandbox-tts", voice: "alloy", input: "x".repeat(4_097) } as const;
    await expect(client.audio.speech.create(asked)).rejects.toMatchObject({ code: "string_above_max_length" });
    const events = { ...asked, input: "x", stream_format: "sse" } as const;
    await expect(client.audio.speech.create(events)).rejects.toMatchObject({ param: "stream_format" });
  });
});

describe("moderations and rerank", () => {
  it("moderate for nothing, which stands on the bill", async () => {
    const tag = randomUUID();
    const answer = await client.moderations.create({ input: ["I will kill it", "Hello"] }, tagged(tag));
    expect(answer.results.map((result) => [result.flagged, result.categories.violence])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(await billLine(sandbox, tag)).toMatchObject({ model: "sandbox-moderation", amountNanos: "0" });
  });

  it("rank documents, charged by the search unit or by the token", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const documents = ["blue water", "a budget for water", "nothing"];
    const rank = (model: string, tag: string, more: object) =>
      client.post("/rerank", {
        body: { model, query: "water budget", documents, ...more },
        ...tagged(tag),
      }) as Promise<{ results: { index: number }[] }>;
    const units = await rank("sandbox-rerank", tags[0], { top_n: 2 });
    expect(units.results.map(({ index }) => index)).toEqual([1, 0]);
    expect(units).toMatchObject({ meta: { billed_units: { search_units: 1 } } });
    expect(await billLine(sandbox, tags[0])).toMatchObject({ amountNanos: "2000000", extras: { searchUnits: 1 } });
    const many = Array.from({ length: 201 }, () => "water");
    expect(await rank("sandbox-rerank", randomUUID(), { documents: many })).toMatchObject({
      meta: { billed_units: { search_units: 3 } },
    });
    const tokens = await rank("sandbox-rerank-tokens", tags[1], {});
    expect(tokens).toMatchObject({ usage: { total_tokens: 3 * 3 + 3 + 5 + 2 } });
    expect(await billLine(sandbox, tags[1])).toMatchObject({ promptTokens: 19, amountNanos: String(19 * 20) });
    await expect(rank("sandbox-rerank", "", { documents: [] })).rejects.toMatchObject({ param: "documents" });
  });
});

describe("the AI SDK's OpenAI provider", () => {
  it("draws, speaks and listens", async () => {
    const openai = createOpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1` });
    const { image } = await generateImage({ model: openai.image("sandbox-image"), prompt: "A blue dot" });
    expect(image.mediaType).toBe("image/png");
    const spoken = await experimental_generateSpeech({
      model: openai.speech("sandbox-speech"),
      text: "Hello",
      voice: "alloy",
    });
    expect(spoken.audio.uint8Array.length).toBeGreaterThan(0);
    const heard = await experimental_transcribe({
      model: openai.transcription("sandbox-whisper"),
      audio: Buffer.alloc(32_000),
    });
    expect(heard.text).toMatch(/^w0 w1/);
  });
});
