import { describe, expect, it } from "vitest";
import { averageUsage, finishedLine, statedUsage } from "./batch-result";

const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } };
const line = (response: unknown) => JSON.stringify({ id: "batch_req_1", custom_id: "a", response, error: null });

describe("a line of a batch's files", () => {
  it("that was served says what it used", () => {
    const read = finishedLine(line({ status_code: 200, body: { service_tier: "default", usage } }), "openai");
    expect(read).toMatchObject({ isDoubtful: false, usage: { inputTokens: 10, cacheReadTokens: 4, outputTokens: 5 } });
  });

  it.each([
    ["was refused", line({ status_code: 429, body: { error: {}, usage } })],
    ["broke", line({ status_code: 500, body: null })],
    ["was never run", line(null)],
    ["is no JSON", "{"],
    ["is no object", "[]"],
  ])("that %s costs nothing", (_name, text) => {
    expect(finishedLine(text, "openai")).toBeUndefined();
  });

  it("that was served and says nothing, or nonsense, is doubtful and never free", () => {
    expect(finishedLine(line({ status_code: 200, body: {} }), "openai")).toEqual({
      usage: undefined,
      isDoubtful: true,
    });
    const odd = { ...usage, completion_tokens: -5 };
    expect(finishedLine(line({ status_code: 200, body: { usage: odd } }), "openai")?.isDoubtful).toBe(true);
    expect(averageUsage({ inputTokens: 100, outputTokens: 10 }, 3)).toMatchObject({ inputTokens: 34, outputTokens: 4 });
  });

  it.each([
    [{ choices: [{ message: { role: "assistant", content: "a long text" } }] }],
    [{ choices: [{ message: { content: null, tool_calls: [{ id: "c" }] } }] }],
    [{ choices: [{ text: "a long text" }] }],
    [{ output: [{ type: "message" }] }],
  ])("that was served with an answer and counts no output says nothing of it: %j", (answer) => {
    for (const stated of [{ prompt_tokens: 10 }, { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }]) {
      const read = finishedLine(line({ status_code: 200, body: { ...answer, usage: stated } }), "openai");
      expect(read).toEqual({ usage: undefined, isDoubtful: true });
    }
  });

  it("that makes no text has no output", () => {
    const answer = { data: [{ embedding: [0] }], usage: { prompt_tokens: 10, total_tokens: 10 } };
    const silent = { choices: [{ message: { content: "" } }], usage: { prompt_tokens: 10, completion_tokens: 0 } };
    for (const body of [answer, silent]) {
      const read = finishedLine(line({ status_code: 200, body }), "openai");
      expect(read).toMatchObject({ isDoubtful: false, usage: { inputTokens: 10, outputTokens: 0 } });
    }
  });

  it("may be summed up by the batch itself", () => {
    const stated = { input_tokens: 20, output_tokens: 3, input_tokens_details: { cached_tokens: 5 } };
    expect(statedUsage({ usage: stated }, "openai")).toMatchObject({
      inputTokens: 20,
      cacheReadTokens: 5,
      outputTokens: 3,
    });
    expect(statedUsage({}, "openai")).toBeUndefined();
  });
});
