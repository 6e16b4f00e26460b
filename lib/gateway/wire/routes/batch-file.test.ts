import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { batchLines } from "./batch-file";

async function* cutAt(text: string, cuts: readonly number[]): AsyncIterable<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let from = 0;
  for (const cut of [...cuts].sort((left, right) => left - right)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
  yield bytes.subarray(from);
}

async function read(text: string, cuts: readonly number[] = []) {
  const lines = [];
  for await (const line of batchLines(cutAt(text, cuts)))
    lines.push(
      isDenial(line)
        ? { detail: line.detail, param: line.param }
        : [line.number, line.line.customId, line.line.route.route, line.line.request.outputCap],
    );
  return lines;
}

const line = (id: string, url: string, body: object) => JSON.stringify({ custom_id: id, method: "POST", url, body });
const chat = { model: "m", messages: [{ role: "user", content: "你好" }], max_tokens: 5 };

describe("a batch file", () => {
  const text = `${line("a", "/v1/chat/completions", chat)}\r\n\n${line("b", "/v1/embeddings", { model: "m", input: "x" })}`;

  it("is read call by call, at any chunk boundaries", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
        expect(await read(text, cuts)).toEqual([
          [1, "a", "chat/completions", 5],
          [3, "b", "embeddings", 0],
        ]);
      }),
    );
  });

  it.each([
    ["{", "line 2: it is not JSON", undefined],
    [line("", "/v1/chat/completions", chat), "line 2: custom_id must be a text", "custom_id"],
    [line("b", "/v1/images/generations", { model: "m", prompt: "x" }), "line 2: url must be a route", "url"],
    [line("b", "/v1/messages", chat), "line 2: url must be a route that is governed", "url"],
    [
      line("b", "/v1/chat/completions", { ...chat, max_tokens: -1 }),
      "line 2: max_tokens must be a whole number",
      "max_tokens",
    ],
    [line("b", "/v1/chat/completions", { ...chat, stream: true }), "line 2: stream must be false in a batch", "stream"],
    [
      '{"custom_id":"b","method":"POST","url":"/v1/embeddings","body":{},"body":{}}',
      "line 2: a name occurs twice",
      "body",
    ],
  ])("with a line such as %s says which and why", async (bad, detail, param) => {
    const [first, second] = await read(`${line("a", "/v1/chat/completions", chat)}\n${bad}\n${text}`);
    expect(first).toEqual([1, "a", "chat/completions", 5]);
    expect(second).toMatchObject({ detail: expect.stringContaining(detail), param });
  });
});
