import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { ModelDocument } from "@/lib/domain/snapshot";
import { PriceError } from "@/lib/pricing/decimal";
import type { Serving } from "../serving";
import { governedRoute } from "../wire/routes/governed-routes";
import type { RouteRequest } from "../wire/routes/route-request";
import type { CountedInputs } from "./estimate";
import { estimateServing } from "./estimate";
import { unpricedTool } from "./units";

const TEXT = { inputPerToken: "0.000001", outputPerToken: "0.00001" };

function request(route: string, body: object): RouteRequest {
  const parsed = governedRoute(route, "")?.parseJson?.(new TextEncoder().encode(JSON.stringify(body)));
  if (!parsed || isDenial(parsed)) throw new Error(parsed?.detail ?? "no route");
  return parsed;
}

const chat = (more: object = {}) =>
  request("chat/completions", { model: "m", messages: [{ role: "user", content: "hello" }], ...more });

function serving(rates: PriceRates, model: Partial<ModelDocument> = {}): Serving {
  const document: ModelDocument = {
    ...{ id: "m", name: "m", kind: "chat", maxOutputTokens: null, contextTokens: null, isExternal: false },
    ...{ disabled: false, createdMs: 0, deployments: [], prices: [] },
    ...model,
  };
  const deployment = {
    ...{ id: "d", providerId: "v", upstreamModel: "m", weight: 1, priority: 0, region: null, timeoutMs: 1000 },
    ...{ connectTimeoutMs: null, firstByteTimeoutMs: null, idleTimeoutMs: null },
  };
  const provider = {
    id: "v",
    kind: "openai",
    name: "v",
    baseUrl: "https://v",
    secretBox: null,
    isExternal: false,
    disabled: false,
  };
  const adapter = { vendor: "openai", pathOf: () => "/x", passedHeaders: () => [] };
  const target = { ...deployment, deployment, provider, adapter, path: "/x", translation: null };
  return {
    plan: { kind: "serve", model: "m", decision: "pass", charges: [] },
    model: document,
    target,
    targets: [target],
    price: { id: "p", currency: "USD", rates, effectiveFromMs: 0, effectiveToMs: null },
    isPlainPrice: Object.keys(rates).every((name) => name in TEXT),
    fxRate: null,
  };
}

describe("what a call may cost at the most", () => {
  it("what is free holds a nano, so that nobody without money is served", () => {
    const free = { inputPerToken: "0", outputPerToken: "0" };
    expect(estimateServing(chat(), serving(free), 100).cost).toBe(1n);
  });

  it("a body whose input nothing bounds is held for at the model's context, or at more than any there is", () => {
    const stored = request("responses", { model: "m", input: "x", previous_response_id: "resp_1" });
    expect(estimateServing(stored, serving(TEXT, { contextTokens: 200_000 }), 1).inputTokens).toBe(200_000);
    expect(estimateServing(stored, serving(TEXT), 1).inputTokens).toBe(2_000_000);
  });

  it("no input is above the context, counted or not, and no count above the bound of the body", () => {
    const long = chat({ messages: [{ role: "user", content: "x".repeat(5000) }] });
    const small = serving(TEXT, { contextTokens: 1000 });
    expect(estimateServing(long, small, 1).inputTokens).toBe(1000);
    const plain = serving(TEXT);
    const counted = (hold: number): CountedInputs =>
      new Map([[plain.model, { estimate: { bound: 9999 }, count: { tokens: hold, hold, basis: "counted" as const } }]]);
    expect(estimateServing(long, plain, 1, counted(700)).inputTokens).toBe(700);
    expect(estimateServing(long, plain, 1, counted(99_999)).inputTokens).toBe(long.inputBound);
  });

  it("text pays no rate of sound; a call that asks for sound may", () => {
    const omni = serving({ ...TEXT, audioInputPerToken: "0.00004", audioOutputPerToken: "0.00008" });
    const text = estimateServing(chat({ max_tokens: 10 }), omni, 10).cost;
    expect(text).toBe(estimateServing(chat({ max_tokens: 10 }), serving(TEXT), 10).cost);
    const sound = { max_tokens: 10, modalities: ["text", "audio"], audio: { voice: "a", format: "wav" } };
    expect(estimateServing(chat(sound), omni, 10).cost).toBeGreaterThan(text * 5n);
  });

  it("a search that the model may do is held for, and refused where it has no price", () => {
    const search = chat({ web_search_options: { search_context_size: "high" }, max_tokens: 10 });
    const priced = serving({ ...TEXT, webSearch: { high: "0.05" } }, { contextTokens: 1000 });
    expect(estimateServing(search, priced, 10).cost).toBeGreaterThanOrEqual(500_000_000n);
    expect(() => estimateServing(search, serving(TEXT), 10)).toThrow(PriceError);
  });

  it("tools whose fee no price names are refused; those that cost only tokens are not", () => {
    const withTool = (type: string) => request("responses", { model: "m", input: "x", tools: [{ type }] });
    expect(unpricedTool(withTool("code_interpreter"))).toMatchObject({ code: "price_missing" });
    expect(unpricedTool(withTool("file_search"))).toMatchObject({ code: "price_missing" });
    for (const type of ["function", "mcp", "web_search"]) expect(unpricedTool(withTool(type))).toBeUndefined();
  });

  it("pictures by size and quality, sound by length, speech by characters", () => {
    const image = request("images/generations", { model: "m", prompt: "x", n: 3, size: "1024x1024", quality: "hd" });
    const drawn = serving({ images: [{ size: "1024x1024", quality: "hd", perImage: "0.08" }] }, { kind: "image" });
    expect(estimateServing(image, drawn, 1).cost).toBe(240_000_000n);
    const speech = request("audio/speech", { model: "m", input: "预算🌊", voice: "a" });
    expect(estimateServing(speech, serving({ perCharacter: "0.000015" }, { kind: "speech" }), 1).cost).toBe(45_000n);
  });
});

describe("how a call asks to be served", () => {
  const rates: PriceRates = {
    ...TEXT,
    services: { priority: { inputPerToken: "0.000002", outputPerToken: "0.00002" } },
    regionMultipliers: { us: "1.1" },
    speedMultipliers: { fast: "6" },
  };
  const message = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hello" }] };
  const costOf = (more: object) =>
    estimateServing(request("messages", { ...message, ...more }), serving(rates), 10).cost;
  const standard = costOf({ service_tier: "standard", inference_geo: "global" });

  it.each(["priority", "PRIORITY", "fast", "on_demand_priority", "auto", "Auto", "any word at all"])(
    "is held at the dear tier that %j may mean",
    (tier) => {
      expect(costOf({ service_tier: tier, inference_geo: "global" })).toBeGreaterThan((standard * 19n) / 10n);
    },
  );

  it.each(["default", "Standard", "standard_only", "on_demand", "flex"])("is held as ordinary by %j", (tier) => {
    expect(costOf({ service_tier: tier, inference_geo: "global" })).toBeLessThan((standard * 11n) / 10n);
  });

  it.each([{ inference_geo: "US" }, { speed: "FAST" }])("is held at its factor however it is written: %j", (more) => {
    expect(costOf({ service_tier: "standard", inference_geo: "global", ...more })).toBeGreaterThan(
      (standard * 108n) / 100n,
    );
  });
});
