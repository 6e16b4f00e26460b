import { describe, expect, it } from "vitest";
import { isResponseOver, nextResponseLookMs, outputBytesOf, withoutTexts } from "./background-response";

describe("a response in the background", () => {
  it("is over in four ways", () => {
    const ends = ["completed", "failed", "cancelled", "incomplete"];
    const goesOn = ["queued", "in_progress", "something new", undefined];
    expect(ends.map((status) => isResponseOver({ status }))).toEqual(ends.map(() => true));
    expect(goesOn.map((status) => isResponseOver({ status }))).toEqual(goesOn.map(() => false));
  });

  it("is written down without a word of what was asked or said", () => {
    const kept = { id: "resp_1", object: "response", created_at: 7, status: "completed", usage: { input_tokens: 1 } };
    const texts = { instructions: "secret", output: [{ content: [{ text: "secret" }] }], metadata: { a: "secret" } };
    expect(withoutTexts({ ...kept, ...texts, text: "secret", error: { message: "secret" } })).toEqual(kept);
  });

  it("is counted by what was made, in bytes, and not by ids and types", () => {
    const output = [
      { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "ab" }] },
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "水", annotations: [] }],
      },
      { id: "fc_1", type: "function_call", name: "open", arguments: "{}" },
    ];
    expect(outputBytesOf({ output })).toBe(2 + 3 + 2);
    expect(outputBytesOf({})).toBe(0);
  });

  it("is looked at more seldom the longer it runs", () => {
    expect([0, 20_000, 600_000].map(nextResponseLookMs)).toEqual([1_000, 2_000, 15_000]);
  });
});
