import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxControl } from "./control-fields";
import { type Sandbox, startSandbox } from "./server";
import { billLine, type RawAnswer, rawChat, readEvents } from "./testing/client";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ recordRequests: true });
});
afterAll(() => sandbox.close());

const STREAM = { stream: true, stream_options: { include_usage: true } };

async function call(control: SandboxControl, body: object = {}): Promise<RawAnswer & { tag: string }> {
  const tag = randomUUID();
  return { tag, ...(await rawChat(sandbox, tag, control, body).ended) };
}

/** Sizes of the HTTP chunks of a raw answer, the last one left out. */
function chunkSizes({ text }: RawAnswer): number[] {
  const bytes = Buffer.from(text);
  const sizes: number[] = [];
  let at = bytes.indexOf("\r\n\r\n") + 4;
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (size === 0) break;
    sizes.push(size);
    at = lineEnd + 2 + size + 2;
  }
  return sizes;
}

/** The body of a chunked answer, put together again. */
function unchunked(answer: RawAnswer): string {
  const bytes = Buffer.from(answer.text);
  const parts: Buffer[] = [];
  let at = bytes.indexOf("\r\n\r\n") + 4;
  for (const size of chunkSizes(answer)) {
    const start = bytes.indexOf("\r\n", at) + 2;
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
  return Buffer.concat(parts).toString("utf8");
}

describe("a stream", () => {
  it("is split at any byte, within characters too, and is the same put together", async () => {
    const control: SandboxControl = { multibyte: true, completionTokens: 20 };
    const fetched = async (splitAt: number) => {
      const answer = await fetch(`${sandbox.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: "Bearer sandbox-raw-0001",
          "x-sandbox-control": JSON.stringify({ ...control, splitAt }),
        },
        body: JSON.stringify({ model: "sandbox-small", messages: [{ role: "user", content: "hi" }], ...STREAM }),
      });
      const pieces: Uint8Array[] = [];
      const reader = answer.body?.getReader();
      for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) pieces.push(read.value);
      return pieces;
    };
    const pieces = await fetched(5);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBe(5);
    const isTorn = (piece: Uint8Array) => new TextDecoder().decode(piece).includes("\uFFFD");
    expect(pieces.some(isTorn)).toBe(true);
    const { content, isDone } = readEvents(Buffer.concat(pieces).toString("utf8"));
    expect(isDone).toBe(true);
    expect(content.split(" ")).toEqual(Array.from({ length: 20 }, (_, index) => `水🌊${index}`));
  });

  it("has CRLF, comments, keep-alives and padding where asked for, and the same events", async () => {
    const plain = readEvents(unchunked(await call({ completionTokens: 6 }, STREAM))).content;
    const control: SandboxControl = {
      completionTokens: 6,
      crlf: true,
      commentEvery: 2,
      keepAlives: 3,
      padBytes: 5_000,
    };
    const text = unchunked(await call(control, STREAM));
    expect(text).not.toMatch(/[^\r]\n/);
    expect(text.startsWith(": keep-alive\r\n\r\n".repeat(3) + ": xxx")).toBe(true);
    expect(text.match(/^: ping\r$/gm)).toHaveLength(4);
    expect(text.length).toBeGreaterThan(5_000);
    expect(readEvents(text.replaceAll("\r\n", "\n")).content).toBe(plain);
  });

  it("breaks after exactly so many bytes, and bills the chunks before", async () => {
    const whole = unchunked(await call({ completionTokens: 8 }, STREAM));
    const cutAfterBytes = whole.indexOf(" w4") + 1;
    const cut = await call({ completionTokens: 8, cutAfterBytes }, STREAM);
    expect(Buffer.byteLength(unchunked(cut))).toBe(cutAfterBytes);
    expect(cut.text.endsWith("0\r\n\r\n")).toBe(false);
    expect(await billLine(sandbox, cut.tag)).toMatchObject({ completionTokens: 4, aborted: true });
    const headOnly = await call({ cutAfterBytes: 0 }, STREAM);
    expect(headOnly.text).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
    expect(await billLine(sandbox, headOnly.tag)).toMatchObject({ completionTokens: 0, aborted: true });
  });

  it("sends its head before it waits with the body", async () => {
    const tag = randomUUID();
    const raw = rawChat(sandbox, tag, { bodyDelayMs: 60_000, promptTokens: 3 }, STREAM);
    expect(await raw.seen("\r\n\r\n")).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
    raw.hangUp();
    await expect
      .poll(() => billLine(sandbox, tag))
      .toMatchObject({ promptTokens: 3, completionTokens: 0, aborted: true });
  });

  it("tells a running usage twice where asked", async () => {
    const { text, tag } = await call({ completionTokens: 9, fault: "usage_twice" }, STREAM);
    const counts = [...text.matchAll(/"choices":\[\],"usage":\{"prompt_tokens":\d+,"completion_tokens":(\d+)/g)];
    expect(counts.map((match) => match[1])).toEqual(["1", "9"]);
    expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 9 });
  });

  it("names another model than was asked for, and bills the right one", async () => {
    const { text, tag } = await call({ answerModel: "somebody-else" }, STREAM);
    expect(text).not.toContain('"model":"sandbox-small"');
    expect(text).toContain('"model":"somebody-else"');
    expect(await billLine(sandbox, tag)).toMatchObject({ model: "sandbox-small" });
  });
});

describe("a JSON answer", () => {
  const bodyOf = ({ text }: RawAnswer) => text.slice(text.indexOf("\r\n\r\n") + 4);

  it("comes in pieces, after blank lines, and padded", async () => {
    const split = await call({ splitAt: 7 });
    expect(Math.max(...chunkSizes(split))).toBe(7);
    expect(JSON.parse(unchunked(split))).toMatchObject({ object: "chat.completion" });
    const late = await call({ keepAlives: 4 });
    expect(bodyOf(late)).toMatch(/^\n{4}\{/);
    const huge = await call({ padBytes: 3_000_000 });
    expect(JSON.parse(bodyOf(huge))).toMatchObject({
      object: "chat.completion",
      padding: expect.stringMatching(/^x{10}/),
    });
    expect(huge.text.length).toBeGreaterThan(3_000_000);
    for (const { tag } of [split, late, huge]) {
      expect(await billLine(sandbox, tag)).toMatchObject({ completionTokens: 16, aborted: false });
    }
  });

  it("breaks after exactly so many bytes of the announced length", async () => {
    const cut = await call({ cutAfterBytes: 33 });
    expect(bodyOf(cut)).toHaveLength(33);
    expect(await billLine(sandbox, cut.tag)).toMatchObject({ completionTokens: 16, aborted: true });
  });

  it("is a redirect where asked, which costs nothing", async () => {
    for (const body of [{}, STREAM]) {
      const answer = await call({ redirect: "http://169.254.169.254/latest" }, body);
      expect(answer.text).toMatch(/^HTTP\/1.1 307 .*location: http:\/\/169\.254\.169\.254\/latest\r\n/s);
      expect(await billLine(sandbox, answer.tag)).toBeUndefined();
    }
    expect((await call({ redirect: "/elsewhere", redirectStatus: 302 })).text).toMatch(/^HTTP\/1.1 302 Found/);
  });
});

describe("what was received", () => {
  it("is kept with path, query, all headers and size, of secrets only the end", async () => {
    const secrets = {
      "x-api-key": "sandbox-secret-aaaa",
      "x-goog-api-key": "sandbox-secret-bbbb",
      "api-key": "sandbox-secret-cccc",
    };
    await fetch(`${sandbox.url}/v1beta/models/sandbox-gemini-flash:countTokens?key=sandbox-secret-dddd`, {
      method: "POST",
      headers: { ...secrets, authorization: "Bearer sandbox-secret-eeee", "x-consumer-id": "team-7" },
      body: JSON.stringify({ contents: [{ parts: [{ text: "hi" }] }] }),
    });
    const text = await (await fetch(`${sandbox.url}/calls`)).text();
    expect(text).not.toContain("secret");
    expect(JSON.parse(text).requests.at(-1)).toMatchObject({
      method: "POST",
      path: "/v1beta/models/sandbox-gemini-flash:countTokens",
      query: "?key=…dddd",
      headers: { "x-api-key": "…aaaa", authorization: "…eeee", "x-consumer-id": "team-7" },
      bytes: 40,
    });
  });

  it("is counted for every route by its template, refused requests too", async () => {
    const fresh = await startSandbox();
    const authorization = "Bearer sandbox-key-1234";
    await fetch(`${fresh.url}/v1/files/file-none/content`, { headers: { authorization } });
    await fetch(`${fresh.url}/v1/responses`, { headers: { authorization } });
    await fetch(`${fresh.url}/v1/messages`, { method: "POST" });
    const unnamed = await fetch(`${fresh.url}/v1/models/%zz`, { headers: { authorization } });
    expect(unnamed.status).toBe(404);
    await fetch(`${fresh.url}/anything/else`);
    const { byPath } = (await (await fetch(`${fresh.url}/calls`)).json()) as { byPath: object };
    expect(byPath).toEqual({
      "/v1/files/{file}/content": 1,
      "/v1/responses": 1,
      "/v1/messages": 1,
      "/v1/models/{model}": 1,
      other: 1,
    });
    await fresh.close();
  });
});
