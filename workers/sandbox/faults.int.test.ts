import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SandboxControl } from "./control-fields";
import { type Sandbox, startSandbox } from "./server";
import { billLine, type RawAnswer, rawChat, readEvents, tagged } from "./testing/client";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const STREAM = { stream: true, stream_options: { include_usage: true } };
/** The end of a chunked body: without it the client knows that something is missing. */
const LAST_CHUNK = "\r\n0\r\n\r\n";

async function call(control: SandboxControl, body: object = {}): Promise<RawAnswer & { tag: string }> {
  const tag = randomUUID();
  return { tag, ...(await rawChat(sandbox, tag, control, body).ended) };
}

function bodyOf(answer: RawAnswer): string {
  return answer.text.slice(answer.text.indexOf("\r\n\r\n") + 4);
}

describe("a client that leaves", () => {
  it("pays for the prompt, the reasoning and the tokens written so far, and production stops", async () => {
    const tag = randomUUID();
    const control = { promptTokens: 18, completionTokens: 102, reasoningTokens: 2, chunkDelayMs: 5 };
    const raw = rawChat(sandbox, tag, control, STREAM);
    await raw.seen('" w4"');
    raw.hangUp();
    const line = await vi.waitFor(async () => {
      const found = await billLine(sandbox, tag);
      if (found === undefined) throw new Error("not billed yet");
      return found;
    });
    expect(line).toMatchObject({ promptTokens: 18, aborted: true, stream: true });
    expect(line.completionTokens).toBeGreaterThanOrEqual(2 + 5);
    expect(line.completionTokens).toBeLessThan(102);
    expect(line.amountNanos).toBe(String(18 * 150 + line.completionTokens * 600));
  });

  it("is seen by way of the official client's abort too", async () => {
    const tag = randomUUID();
    const client = new OpenAI({ apiKey: "sandbox-key-1234", baseURL: `${sandbox.url}/v1`, maxRetries: 0 });
    const stream = await client.chat.completions.create(
      { model: "sandbox-small", stream: true, messages: [{ role: "user", content: "hi" }] },
      tagged(tag, { completionTokens: 100, chunkDelayMs: 5 }),
    );
    let pieces = 0;
    for await (const chunk of stream) {
      pieces += chunk.choices[0]?.delta.content ? 1 : 0;
      if (pieces === 10) stream.controller.abort();
    }
    await vi.waitFor(async () => expect(await billLine(sandbox, tag)).toMatchObject({ aborted: true }));
    expect((await billLine(sandbox, tag))?.completionTokens).toBeGreaterThanOrEqual(10);
    expect((await billLine(sandbox, tag))?.completionTokens).toBeLessThan(100);
  });

  it("that stopped reading stops production, and pays for what the socket took", async () => {
    const tag = randomUUID();
    const raw = rawChat(sandbox, tag, { completionTokens: 1_000_000 }, STREAM);
    await raw.seen('" w9"');
    raw.pause();
    const other = await call({ completionTokens: 100_000 }, STREAM);
    expect(readEvents(other.text).isDone).toBe(true);
    expect(await billLine(sandbox, tag)).toBeUndefined();
    raw.hangUp();
    await vi.waitFor(async () => expect(await billLine(sandbox, tag)).toMatchObject({ aborted: true }));
    expect((await billLine(sandbox, tag))?.completionTokens).toBeLessThan(1_000_000);
  });

  it("pays only the prompt of a stream that had not begun, and all of a JSON answer in the making", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const control = { latencyMs: 60_000, promptTokens: 5, completionTokens: 8 };
    const calls = [rawChat(sandbox, tags[0], control, STREAM), rawChat(sandbox, tags[1], control, {})];
    await vi.waitFor(async () => {
      expect(await (await fetch(`${sandbox.url}/calls`)).json()).toMatchObject({ activeCalls: 2 });
    });
    for (const each of calls) each.hangUp();
    await vi.waitFor(async () => expect(await billLine(sandbox, tags[1])).toBeDefined());
    await vi.waitFor(async () => expect(await billLine(sandbox, tags[0])).toBeDefined());
    expect(await billLine(sandbox, tags[0])).toMatchObject({ promptTokens: 5, completionTokens: 0, aborted: true });
    expect(await billLine(sandbox, tags[1])).toMatchObject({ promptTokens: 5, completionTokens: 8, aborted: true });
  });
});

describe("faults of a stream", () => {
  it("cut_stream breaks off after the asked chunks and bills those", async () => {
    const answer = await call({ fault: "cut_stream", cutAfterChunks: 4 }, STREAM);
    expect(readEvents(answer.text)).toMatchObject({ content: "w0 w1 w2 w3", isDone: false });
    expect(answer.text.endsWith(LAST_CHUNK)).toBe(false);
    expect(await billLine(sandbox, answer.tag)).toMatchObject({ completionTokens: 4, aborted: true });
  });

  it("error_in_stream sends an error event after the asked chunks, ends in order, and bills nothing", async () => {
    const control = { fault: "error_in_stream", cutAfterChunks: 2, errorMessage: "x".repeat(4_000) } as const;
    const answer = await call(control, STREAM);
    const { events, content, isDone } = readEvents(answer.text);
    expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ error: { message: "x".repeat(4_000) } });
    expect([content, isDone, answer.text.endsWith(LAST_CHUNK)]).toEqual(["w0 w1", false, true]);
    expect(await billLine(sandbox, answer.tag)).toBeUndefined();
    const billed = await call({ ...control, billAnyway: true }, STREAM);
    expect(await billLine(sandbox, billed.tag)).toMatchObject({ completionTokens: 2 });
  });

  it("half_json ends in order in the middle of an event", async () => {
    const answer = await call({ fault: "half_json", cutAfterChunks: 3 }, STREAM);
    const last = readEvents(answer.text).events.at(-1) ?? "";
    expect(() => JSON.parse(last) as unknown).toThrow(SyntaxError);
    expect(answer.text.endsWith(LAST_CHUNK)).toBe(true);
    expect(await billLine(sandbox, answer.tag)).toBeUndefined();
  });

  it("no_usage and zero_usage hide the usage chunk or zero it, and bill all the same", async () => {
    const none = await call({ fault: "no_usage" }, STREAM);
    expect(none.text).not.toContain('"choices":[],');
    const zero = await call({ fault: "zero_usage" }, STREAM);
    expect(zero.text).toContain('"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0');
    for (const { tag, text } of [none, zero]) {
      expect(readEvents(text)).toMatchObject({ isDone: true });
      expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 16, aborted: false });
    }
  });

  it("empty_id_usage leaves the id of the usage chunk empty", async () => {
    const { events } = readEvents((await call({ fault: "empty_id_usage" }, STREAM)).text);
    expect(JSON.parse(events.at(-2) ?? "")).toMatchObject({ id: "", choices: [], usage: { completion_tokens: 16 } });
    expect(JSON.parse(events.at(-3) ?? "")).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/) });
  });

  it("a long answer at full speed is whole", async () => {
    const answer = await call({ completionTokens: 20_000 }, STREAM);
    const { content, isDone } = readEvents(answer.text);
    expect(isDone).toBe(true);
    expect(content.split(" ")).toHaveLength(20_000);
    expect(await billLine(sandbox, answer.tag)).toMatchObject({ completionTokens: 20_000, aborted: false });
  });
});

describe("faults of a JSON answer", () => {
  it("half_json is half of the answer with a matching length", async () => {
    const answer = await call({ fault: "half_json" });
    expect(answer.text).toMatch(/^HTTP\/1.1 200 /);
    expect(() => JSON.parse(bodyOf(answer)) as unknown).toThrow(SyntaxError);
    expect(answer.text).toContain(`content-length: ${bodyOf(answer).length}\r\n`);
    expect(await billLine(sandbox, answer.tag)).toBeUndefined();
  });

  it("cut_stream breaks off in the middle of the announced length", async () => {
    const answer = await call({ fault: "cut_stream" });
    const announced = Number(/content-length: (\d+)/.exec(answer.text)?.[1]);
    expect(bodyOf(answer).length).toBe(Math.floor(announced / 2));
    expect(await billLine(sandbox, answer.tag)).toMatchObject({ completionTokens: 16, aborted: true });
  });

  it("wrong_gzip announces gzip and sends plain text", async () => {
    for (const body of [{}, STREAM]) {
      const answer = await call({ fault: "wrong_gzip" }, body);
      expect(answer.text).toContain("content-encoding: gzip\r\n");
      expect(answer.text).toContain("w0");
      expect(await billLine(sandbox, answer.tag)).toBeUndefined();
    }
  });

  it("error_in_stream is an error body under status 200", async () => {
    const answer = await call({ fault: "error_in_stream" });
    expect(answer.text).toMatch(/^HTTP\/1.1 200 /);
    expect(JSON.parse(bodyOf(answer))).toMatchObject({ error: { type: "server_error" } });
  });

  it("no_usage and zero_usage", async () => {
    const none = await call({ fault: "no_usage" });
    expect(JSON.parse(bodyOf(none))).not.toHaveProperty("usage");
    const zero = await call({ fault: "zero_usage" });
    expect(JSON.parse(bodyOf(zero))).toMatchObject({ usage: { total_tokens: 0 } });
    expect(await billLine(sandbox, zero.tag)).toMatchObject({ completionTokens: 16 });
  });
});

describe("faults before any answer", () => {
  it.each([{}, STREAM])("close_socket closes without a byte (%j)", async (body) => {
    const answer = await call({ fault: "close_socket" }, body);
    expect(answer.text).toBe("");
    expect(await billLine(sandbox, answer.tag)).toBeUndefined();
    const billed = await call({ fault: "close_socket", billAnyway: true }, body);
    expect(await billLine(sandbox, billed.tag)).toMatchObject({ completionTokens: 16, aborted: true });
  });

  it("hang says nothing until the client leaves", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const silent = rawChat(sandbox, tags[0], { fault: "hang" }, {});
    const billed = rawChat(sandbox, tags[1], { fault: "hang", billAnyway: true }, STREAM);
    const probe = await call({ latencyMs: 30 });
    expect(probe.text).toContain("200 OK");
    silent.hangUp();
    billed.hangUp();
    expect((await silent.ended).text).toBe("");
    await vi.waitFor(async () => expect(await billLine(sandbox, tags[1])).toMatchObject({ aborted: true }));
    expect(await billLine(sandbox, tags[0])).toBeUndefined();
  });
});
