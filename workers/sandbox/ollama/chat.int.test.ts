import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxControl } from "../control-fields";
import { type Sandbox, startSandbox } from "../server";
import { billLine, tagged } from "../testing/client";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const messages = [{ role: "user", content: "Say something." }];

describe("Ollama's own format", () => {
  const chat = async (body: object, tag: string, control: SandboxControl = {}) => {
    const { headers } = tagged(tag, control);
    const init = { method: "POST", headers, body: JSON.stringify({ model: "sandbox-llama", messages, ...body }) };
    const answer = await fetch(`${sandbox.url}/api/chat`, init);
    return (await answer.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };

  it("streams a line a token unless told otherwise, asks for no key, and costs nothing", async () => {
    const tag = randomUUID();
    const lines = await chat({}, tag, { completionTokens: 3 });
    expect(lines.map((line) => line.message.content)).toEqual(["w0", " w1", " w2", ""]);
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: "stop", prompt_eval_count: 10, eval_count: 3 });
    expect(await billLine(sandbox, tag)).toMatchObject({
      model: "sandbox-llama",
      completionTokens: 3,
      amountNanos: "0",
    });
  });

  it("answers whole, up to num_predict, without a prompt count where the prompt was cached", async () => {
    const [answer] = await chat({ stream: false, options: { num_predict: 2 } }, randomUUID(), { cachedTokens: 5 });
    expect(answer).toMatchObject({ message: { content: "w0 w1" }, done_reason: "length", eval_count: 2 });
    expect(answer).not.toHaveProperty("prompt_eval_count");
    const [missing] = await chat({ model: "sandbox-none" }, randomUUID());
    expect(missing).toEqual({ error: expect.stringContaining("sandbox-none") });
  });
});
