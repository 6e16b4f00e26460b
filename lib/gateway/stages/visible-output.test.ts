import { describe, expect, it } from "vitest";
import type { ServingFacts } from "../serving";
import type { JsonRequest } from "../wire/routes/route-request";
import { NO_EXTRAS } from "../wire/routes/route-request";
import { noteUnseen, showsAllOutput } from "./visible-output";

function request(changes: Partial<JsonRequest> = {}): JsonRequest {
  return {
    ...{ kind: "chat", model: "m", isStream: true, wantsUsage: false, outputCap: null, choices: 1, inputBound: 1 },
    ...{ inputGuess: () => 1, extraOutput: 0, endUser: null, extras: NO_EXTRAS, text: "{}", body: {}, bodyBytes: 2 },
    scan: new Map(),
    ...changes,
  } as JsonRequest;
}

/** Of a serving only what is asked here. */
function serving(vendor: string, upstreamModel: string, name = upstreamModel, id = "d"): ServingFacts {
  return { model: { name }, target: { id, adapter: { vendor }, deployment: { upstreamModel } } } as ServingFacts;
}

describe("all that a stream is billed for comes by", () => {
  it.each([
    ["openai", "gpt-4o-mini", true],
    ["openai", "gpt-5", false],
    ["openai", "o3-mini", false],
    ["openai", "a-model-of-tomorrow", false],
    ["azure", "our-deployment", false],
    ["gemini", "gemini-2.0-flash", true],
    ["gemini", "gemini-2.5-pro", false],
    ["anthropic", "claude-sonnet-4-5", true],
    ["deepseek", "deepseek-reasoner", true],
    ["openai-compatible", "qwen3-32b", true],
    ["openai-compatible", "openai/o1", false],
    ["openai-compatible", "google/gemini-2.5-flash", false],
    ["openai-compatible", "x-ai/grok-4", false],
  ])("of %s's %s: %s", (vendor, model, expected) => {
    expect(showsAllOutput(request(), serving(vendor, model))).toBe(expected);
  });

  it("of a deployment of Azure by the name that its model has here", () => {
    expect(showsAllOutput(request(), serving("azure", "our-deployment", "gpt-4o"))).toBe(true);
  });

  it.each([
    [{ isStream: false }],
    [{ kind: "embedding" as const }],
    [{ extraOutput: 10 }],
    [{ body: { reasoning_effort: "low" } }],
    [{ body: { thinking: { type: "enabled", budget_tokens: 1024 } } }],
    [{ body: { prediction: { type: "content", content: "x" } } }],
    [{ body: { best_of: 3 } }],
    [{ extras: { ...NO_EXTRAS, toolFees: [{ tool: "web_search", maxCalls: null, size: null }] } }],
    [{ extras: { ...NO_EXTRAS, hasAudioOutput: true } }],
  ])("not of a call with %j", (changes) => {
    expect(showsAllOutput(request(changes), serving("anthropic", "claude-sonnet-4-5"))).toBe(false);
  });

  it.each([{ reasoning_effort: "none" }, { thinking: { type: "disabled" } }, { best_of: 1 }])(
    "of a call that says %j",
    (body) => {
      expect(showsAllOutput(request({ body }), serving("anthropic", "claude-sonnet-4-5"))).toBe(true);
    },
  );

  it("not of a deployment that has billed more than it showed, and of the others still", () => {
    noteUnseen("liar");
    expect(showsAllOutput(request(), serving("deepseek", "chat", "chat", "liar"))).toBe(false);
    expect(showsAllOutput(request(), serving("deepseek", "chat", "chat", "honest"))).toBe(true);
  });
});
