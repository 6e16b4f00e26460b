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

describe("Gemini's own format", () => {
  const ask = async (path: string, body: object, tag: string, control: SandboxControl = {}) => {
    const { headers } = tagged(tag, control);
    const answer = await fetch(`${sandbox.url}/v1beta/models/${path}`, {
      method: "POST",
      headers: { ...headers, "x-goog-api-key": "sandbox-key-1234" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const contents = [{ role: "user", parts: [{ text: "Say something." }] }];
  const control: SandboxControl = {
    ...{ promptTokens: 100, cachedTokens: 30, completionTokens: 50, reasoningTokens: 20, toolPromptTokens: 7 },
  };
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 30,
    candidatesTokenCount: 30,
    thoughtsTokenCount: 20,
    toolUsePromptTokenCount: 7,
    totalTokenCount: 157,
  };
  const amountNanos = String(77 * 300 + 30 * 30 + 50 * 2_500);

  it("keeps thoughts out of the candidates and in the total, whole and streamed", async () => {
    const tags = [randomUUID(), randomUUID(), randomUUID()] as const;
    const whole = JSON.parse((await ask("sandbox-gemini-flash:generateContent", { contents }, tags[0], control)).text);
    expect(whole).toMatchObject({ candidates: [{ finishReason: "STOP", content: { role: "model" } }], usageMetadata });
    const { text } = await ask("sandbox-gemini-flash:streamGenerateContent?alt=sse", { contents }, tags[1], control);
    const events = [...text.matchAll(/^data: (.*)\r$/gm)].map((match) => JSON.parse(match[1] ?? ""));
    expect(events).toHaveLength(30);
    const counts = events.map((event) => event.usageMetadata.candidatesTokenCount);
    expect(counts).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ candidates: [{ finishReason: "STOP" }], usageMetadata });
    const array = JSON.parse(
      (await ask("sandbox-gemini-flash:streamGenerateContent", { contents }, tags[2], control)).text,
    );
    expect(array).toHaveLength(30);
    for (const tag of tags) expect(await billLine(sandbox, tag)).toMatchObject({ promptTokens: 107, amountNanos });
  });

  it("costs the long-context price for the whole call above the threshold, not at it", async () => {
    const cost = async (promptTokens: number) => {
      const tag = randomUUID();
      await ask("sandbox-gemini-pro:generateContent", { contents }, tag, { promptTokens, completionTokens: 10 });
      return (await billLine(sandbox, tag))?.amountNanos;
    };
    expect(await cost(200_000)).toBe(String(200_000 * 1_250 + 10 * 10_000));
    expect(await cost(200_001)).toBe(String(200_001 * 2_500 + 10 * 15_000));
  });

  it("calls functions, stops at its cap, and says when a prompt was blocked", async () => {
    const tools = [{ functionDeclarations: [{ name: "look_up" }] }];
    const toolConfig = { functionCallingConfig: { mode: "ANY" } };
    const called = await ask("sandbox-gemini-flash:generateContent", { contents, tools, toolConfig }, randomUUID());
    expect(JSON.parse(called.text).candidates[0].content.parts).toMatchObject([{ functionCall: { name: "look_up" } }]);
    const generationConfig = { maxOutputTokens: 4, candidateCount: 2 };
    const capped = JSON.parse(
      (await ask("sandbox-gemini-flash:generateContent", { contents, generationConfig }, randomUUID())).text,
    );
    expect(capped.candidates.map((each: { finishReason: string }) => each.finishReason)).toEqual([
      "MAX_TOKENS",
      "MAX_TOKENS",
    ]);
    expect(capped.usageMetadata.candidatesTokenCount).toBe(8);
    const blocked = await ask("sandbox-gemini-flash:generateContent", { contents }, randomUUID(), {
      finishReason: "BLOCKED",
    });
    expect(JSON.parse(blocked.text)).toMatchObject({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } });
  });

  it("counts tokens for nothing and fails in Gemini's words", async () => {
    const tag = randomUUID();
    expect(JSON.parse((await ask("sandbox-gemini-flash:countTokens", { contents }, tag)).text)).toMatchObject({
      totalTokens: 10,
    });
    expect(await billLine(sandbox, tag)).toBeUndefined();
    const rate = await ask("sandbox-gemini-flash:generateContent", { contents }, tag, { error: "rate_limit" });
    expect([rate.status, JSON.parse(rate.text)]).toMatchObject([
      429,
      { error: { code: 429, status: "RESOURCE_EXHAUSTED", details: [{}, { retryDelay: "7s" }] } },
    ]);
    const empty = await ask("sandbox-gemini-flash:generateContent", {}, tag);
    expect([empty.status, JSON.parse(empty.text)]).toMatchObject([400, { error: { status: "INVALID_ARGUMENT" } }]);
    const unknown = await ask("gemini-none:generateContent", { contents }, tag);
    expect([unknown.status, JSON.parse(unknown.text)]).toMatchObject([404, { error: { status: "NOT_FOUND" } }]);
    const anonymous = await fetch(`${sandbox.url}/v1beta/models/sandbox-gemini-flash:generateContent`, {
      method: "POST",
    });
    expect([anonymous.status, await anonymous.json()]).toMatchObject([
      400,
      { error: { details: [{ reason: "API_KEY_INVALID" }] } },
    ]);
  });
});
