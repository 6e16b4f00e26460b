/**
 * What the SDKs make of answers: objects of a schema, tools that run in a loop, pictures of pictures; and what of theirs is not
 * served, which each of them is told in its own words, at once.
 */
import Anthropic from "@anthropic-ai/sdk";
import { generateImage, generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import OpenAI, { toFile } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import type { GatewayHost } from "./host";
import { upstreamCalls, USER } from "./host";
import type { RouteCaller } from "./route-caller";
import { routeCallerOf } from "./route-caller";
import { CLAUDE, expectBooksAgree } from "./route-models";

const prompt = "Say something.";
/** What the sandbox answers where JSON is asked for, and what it calls tools with. */
const schema = z.object({ text: z.string() });
const SAID = { text: expect.stringMatching(/^w0 w1/u) as string };
const picture = () => toFile(Buffer.from("not looked at"), "a.png", { type: "image/png" });

function servesOpenAiClient(host: () => GatewayHost, caller: () => RouteCaller): void {
  const agree = () => expectBooksAgree(host(), caller().made, caller().requestId());

  it("the OpenAI client: objects of a schema, by chat and by response, whole and streamed", async () => {
    const { openai } = caller();
    const asked = { model: "sandbox-small", messages: USER, response_format: zodResponseFormat(schema, "said") };
    expect((await openai.chat.completions.parse(asked)).choices[0]?.message.parsed).toEqual(SAID);
    await agree();
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(SAID);
    await agree();
    const response = { model: "sandbox-small", input: prompt, text: { format: zodTextFormat(schema, "said") } };
    expect((await openai.responses.parse(response)).output_parsed).toEqual(SAID);
    await agree();
    expect((await openai.responses.stream(response).finalResponse()).output_parsed).toEqual(SAID);
    await agree();
  });

  it("the OpenAI client: tools that it runs by itself", async () => {
    const heard: unknown[] = [];
    const runner = caller().openai.chat.completions.runTools({
      ...{ model: "sandbox-small", messages: USER },
      tool_choice: { type: "function", function: { name: "note" } },
      tools: [
        {
          type: "function",
          function: {
            ...{ name: "note", description: "notes", parameters: { type: "object", properties: {} } },
            parse: (text: string): unknown => JSON.parse(text),
            function: (said: unknown) => {
              heard.push(said);
              return "noted";
            },
          },
        },
      ],
    });
    await runner.done();
    expect(heard).toEqual([SAID]);
    await agree();
  });

  it("the OpenAI client: a picture anew, one changed as a stream, tokens counted, a model told", async () => {
    const { openai } = caller();
    const asIs = { model: "sandbox-dalle", image: await picture(), n: 2 } as const;
    const varied = await openai.images.createVariation({ ...asIs, size: "1024x1024" });
    expect(varied.data).toHaveLength(2);
    expect(await agree()).toBe(80_000_000n);
    // Nobody says how large these are: booked at the dearest, until the bill says.
    await openai.images.createVariation(asIs);
    const { organisationId } = caller().made;
    const line = async () => {
      await host().bench.book(organisationId);
      return (await host().bench.ledger(organisationId)).find((one) => one.requestId === caller().requestId());
    };
    await expect.poll(line).toMatchObject({ amount: 240_000_000n, isEstimated: true });
    const types: string[] = [];
    const asked = { model: "sandbox-image", prompt, size: "1024x1024", quality: "low" } as const;
    const stream = await openai.images.edit({ ...asked, image: await picture(), stream: true, partial_images: 1 });
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(["image_edit.partial_image", "image_edit.completed"]);
    await agree();
    const counted = await openai.responses.inputTokens.count({ model: "sandbox-small", input: prompt });
    expect(counted.input_tokens).toBeGreaterThan(0);
    expect((await openai.models.retrieve("sandbox-small")).object).toBe("model");
  });
}

function servesAnthropicClient(host: () => GatewayHost, caller: () => RouteCaller): void {
  it("Anthropic's client: tools that it runs by itself, whole and streamed", async () => {
    const heard: unknown[] = [];
    const tools = [
      {
        ...{ type: "custom" as const, name: "note", description: "notes", input_schema: { type: "object" as const } },
        parse: (said: unknown) => said,
        run: (said: unknown) => {
          heard.push(said);
          return "noted";
        },
      },
    ];
    const asked = { model: CLAUDE.name, max_tokens: 50, messages: USER, tools, max_iterations: 1 };
    const tool_choice = { type: "tool" as const, name: "note" };
    await caller().anthropic.beta.messages.toolRunner({ ...asked, tool_choice });
    await expectBooksAgree(host(), caller().made, caller().requestId());
    for await (const stream of caller().anthropic.beta.messages.toolRunner({ ...asked, tool_choice, stream: true })) {
      await stream.finalMessage();
    }
    await expectBooksAgree(host(), caller().made, caller().requestId());
    expect(heard.length).toBeGreaterThan(0);
  });
}

function servesAiSdk(host: () => GatewayHost, caller: () => RouteCaller): void {
  const agree = () => expectBooksAgree(host(), caller().made, caller().requestId());
  const models = () => {
    const { openai, anthropic } = caller().ai;
    return [openai("sandbox-small"), openai.chat("sandbox-small"), anthropic(CLAUDE.name)];
  };

  it("the AI SDK: objects of a schema, whole and streamed, of every provider", async () => {
    for (const model of models()) {
      expect((await generateObject({ model, schema, prompt })).object).toEqual(SAID);
      await agree();
      let last: unknown;
      for await (const part of streamObject({ model, schema, prompt }).partialObjectStream) last = part;
      expect(last).toEqual(SAID);
      await agree();
    }
  });

  it("the AI SDK: tools in several steps, each step a call of its own", async () => {
    for (const model of models()) {
      const heard: unknown[] = [];
      const execute = (said: unknown) => {
        heard.push(said);
        return Promise.resolve("noted");
      };
      const tools = { note: tool({ description: "notes", inputSchema: schema, execute }) };
      const asked = { model, prompt, tools, toolChoice: "required" as const, stopWhen: stepCountIs(2) };
      const sent = caller().sent();
      expect((await generateText(asked)).steps).toHaveLength(2);
      await agree();
      expect(await streamText(asked).steps).toHaveLength(2);
      await agree();
      expect([heard, caller().sent() - sent]).toEqual([[SAID, SAID, SAID, SAID], 4]);
    }
  });

  it("the AI SDK: a picture of a picture", async () => {
    const model = caller().ai.openai.image("sandbox-image");
    const images = [Buffer.from("not looked at")];
    expect((await generateImage({ model, prompt: { text: prompt, images } })).image.mediaType).toBe("image/png");
    await agree();
  });
}

function refusesTheRest(host: () => GatewayHost, caller: () => RouteCaller): void {
  it("what keeps things at a provider that nobody has a register of is not there, said once in each client's own words", async () => {
    const { openai, anthropic } = caller();
    const asks: readonly (() => Promise<unknown>)[] = [
      () => openai.vectorStores.create({ name: "x" }),
      () => openai.conversations.create({}),
      () => openai.containers.create({ name: "x" }),
      () => openai.fineTuning.jobs.create({ model: "sandbox-small", training_file: "file-1" }),
      () => openai.uploads.create({ bytes: 1, filename: "x", mime_type: "text/plain", purpose: "batch" }),
      () => openai.chat.completions.retrieve("chatcmpl-1"),
      () => openai.models.delete("sandbox-small"),
      () => anthropic.messages.batches.create({ requests: [] }),
      () => anthropic.beta.files.list(),
      () => anthropic.beta.files.delete("file_1"),
    ];
    const before = await upstreamCalls(host());
    for (const [index, ask] of asks.entries()) {
      const sent = caller().sent();
      const error: unknown = await ask().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      const own = error instanceof OpenAI.APIError || error instanceof Anthropic.APIError;
      expect([index, own, caller().sent() - sent]).toEqual([index, true, 1]);
    }
    expect(await upstreamCalls(host())).toBe(before);
  });
}

export function servesSdkObjects(host: () => GatewayHost): void {
  let known: RouteCaller;
  beforeAll(async () => {
    known = await routeCallerOf(host());
  });
  const caller = () => known;
  servesOpenAiClient(host, caller);
  servesAnthropicClient(host, caller);
  servesAiSdk(host, caller);
  refusesTheRest(host, caller);
}
