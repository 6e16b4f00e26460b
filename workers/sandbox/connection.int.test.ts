import { randomUUID } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "./server";
import { billLine } from "./testing/client";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

function chatRequest(tag: string, content: string, extra = ""): string {
  const body = JSON.stringify({ model: "sandbox-small", max_tokens: 2, messages: [{ role: "user", content }] });
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\nauthorization: Bearer sandbox-raw-0001\r\n${extra}` +
    `x-spillway-request: ${tag}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** Writes the pieces one after another, each after a turn of the loop, and resolves when `isEnough` says so. */
function converse(pieces: readonly (string | Buffer)[], isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(sandbox.port, "127.0.0.1");
    socket.setNoDelay(true);
    let text = "";
    const queue = [...pieces];
    const next = () => {
      const piece = queue.shift();
      if (piece !== undefined) socket.write(piece, () => setImmediate(next));
    };
    const done = () => {
      if (isEnough(text)) {
        socket.destroy();
        resolve(text);
      }
    };
    socket.on("connect", next);
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
    socket.on("data", (piece) => {
      text += piece.toString("utf8");
      done();
    });
  });
}

const answersIn = (text: string) => text.split("HTTP/1.1 200 OK").length - 1;

describe("a connection", () => {
  it("serves pipelined requests in order, one line each", async () => {
    const tags = Array.from({ length: 5 }, () => randomUUID());
    const text = await converse([tags.map((tag) => chatRequest(tag, "hi")).join("")], (t) => answersIn(t) === 5);
    expect(answersIn(text)).toBe(5);
    const lines = await Promise.all(tags.map((tag) => billLine(sandbox, tag)));
    const sequences = lines.map((line) => line?.sequence ?? 0);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  });

  it("holds pipelined requests back while an answer is under way", async () => {
    const tags = [randomUUID(), randomUUID()] as const;
    const slow = chatRequest(tags[0], "hi", 'x-sandbox: {"latencyMs":50}\r\n');
    await converse([slow + chatRequest(tags[1], "hi")], (t) => answersIn(t) === 2);
    const [first, second] = [await billLine(sandbox, tags[0]), await billLine(sandbox, tags[1])];
    expect(first?.sequence).toBeLessThan(second?.sequence ?? 0);
  });

  it("puts a request together again, wherever it was cut, inside a character too", async () => {
    const tag = randomUUID();
    const bytes = Buffer.from(chatRequest(tag, "预算用完了"));
    const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
    await converse(pieces, (t) => t.includes('"usage"'));
    expect(await billLine(sandbox, tag)).toMatchObject({ promptTokens: Math.ceil(15 / 4) + 6, completionTokens: 2 });
  });

  it("gives the go-ahead that a client waits for before it sends its body", async () => {
    const [head = "", body = ""] = chatRequest(randomUUID(), "hi", "expect: 100-continue\r\n").split(/(?<=\r\n\r\n)/);
    expect(await converse([head], (t) => t !== "")).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    expect(await converse([head, body], (t) => t.includes('"usage"'))).toContain("200 OK");
  });

  it("closes after the answer when the client says so, and after a request it cannot read", async () => {
    const closing = await converse([chatRequest(randomUUID(), "hi", "connection: close\r\n")], () => false);
    expect(closing).toContain("connection: close\r\n");
    const broken = await converse(["hello\r\n\r\n"], () => false);
    expect(broken).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  });

  it("is kept alive by a pooling client, also after a stream, and takes a body in chunks", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (stream: boolean) =>
      new Promise<{ text: string; reused: boolean }>((resolve, reject) => {
        const headers = { authorization: "Bearer sandbox-raw-0001" };
        const url = `${sandbox.url}/v1/chat/completions`;
        const call = httpRequest(url, { method: "POST", agent, headers }, (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (piece: string) => (text += piece));
          response.on("end", () => resolve({ text, reused: call.reusedSocket }));
        });
        call.on("error", reject);
        call.write('{"model":"sandbox-small","messages":[{"role":"user",');
        call.end(`"content":"hi"}],"stream":${stream}}`);
      });
    expect((await ask(true)).text).toContain("[DONE]");
    expect(await ask(false)).toMatchObject({ reused: true });
    expect(await ask(true)).toMatchObject({ reused: true });
    agent.destroy();
  });

  it("answers text beyond ASCII whole", async () => {
    const answer = await fetch(`${sandbox.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer sandbox-raw-0001" },
      body: JSON.stringify({
        model: "sandbox-small",
        messages: [{}],
        sandbox: { status: 418, errorMessage: "预算用完了" },
      }),
    });
    expect(answer.status).toBe(418);
    expect(await answer.json()).toMatchObject({ error: { message: "预算用完了" } });
  });
});
