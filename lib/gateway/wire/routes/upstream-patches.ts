/**
 * The three things the gateway changes in a body: model name, an output cap (written in, or said in the word that the server
 * knows), and the asked-for usage chunk. Each
 * route names them differently; what comes out is data for `patchJson` or `writeForm`.
 */
import type { MemberSpan } from "../json-scan";
import { patchJson, scanJson } from "../json-scan";
import type { FieldPatches } from "./form";
import type { JsonRequest, RouteKind, RouteRequest } from "./route-request";
import { isFormRequest } from "./route-request";

export interface UpstreamFacts {
  readonly upstreamModel: string;
  /** Null where the caller stated a cap. */
  readonly writtenCap: number | null;
  readonly providerKind: string;
}

/** Providers whose newer models refuse `max_tokens`; other servers do not know `max_completion_tokens`. */
const NEWER_CAP = new Set(["openai", "azure"]);
/** Providers that know both words; some of them refuse a body that says both. */
const BOTH_CAPS = new Set(["openai", "azure", "ark", "gemini", "moonshot", "vllm", "sandbox"]);

/** Name of the output cap on a route; undefined where the route has none that could be written in. */
export function capField(kind: RouteKind, providerKind: string): string | undefined {
  switch (kind) {
    case "chat":
      return NEWER_CAP.has(providerKind) ? "max_completion_tokens" : "max_tokens";
    case "responses":
      return "max_output_tokens";
    case "completion":
    case "messages":
      return "max_tokens";
    case "gemini":
      return "maxOutputTokens";
    default:
      return undefined;
  }
}

/**
 * Whether a chat's cap is said in the newer word alone where a server may know the older one only and make as much as it likes
 * (llama-cpp-python issue 1907, Ollama's OpenAI compatibility): held for, it must be obeyed.
 */
export function needsOlderCap({ kind, body }: JsonRequest, providerKind: string): boolean {
  const isSaid = (name: string) => body[name] !== undefined && body[name] !== null;
  return kind === "chat" && isSaid("max_completion_tokens") && !isSaid("max_tokens") && !BOTH_CAPS.has(providerKind);
}

/** Text of a member that is an object, with members of its own set; a member that is not there is made. */
function patchedMember(request: JsonRequest, name: string, patches: Readonly<Record<string, string>>): string {
  const span: MemberSpan | undefined = request.scan.members.get(name);
  const present = span ? request.text.slice(span.start, span.end) : "null";
  const text = present === "null" ? "{}" : present;
  return patchJson(text, scanJson(text), patches);
}

function streamOptions(request: JsonRequest, providerKind: string): string {
  const asked: Record<string, string> = { include_usage: "true" };
  // vLLM puts running usage on every chunk, so that a stream that is cut still has exact figures.
  if (providerKind === "vllm") asked.continuous_usage_stats = "true";
  return patchedMember(request, "stream_options", asked);
}

/** Members to set in a JSON body, as JSON texts. The model of a Gemini call is in its path. */
export function jsonPatches(request: JsonRequest, facts: UpstreamFacts): Readonly<Record<string, string>> {
  const patches: Record<string, string> = {};
  const isGemini = request.kind === "gemini" || request.kind === "gemini_count";
  const isRenamed = facts.upstreamModel !== request.model;
  if (isRenamed && (!isGemini || request.scan.members.has("model"))) {
    patches.model = JSON.stringify(isGemini ? `models/${facts.upstreamModel}` : facts.upstreamModel);
  }
  const cap = capField(request.kind, facts.providerKind);
  if (facts.writtenCap !== null && cap !== undefined) {
    if (request.kind === "gemini") {
      const name = request.scan.members.has("generation_config") ? "generation_config" : "generationConfig";
      patches[name] = patchedMember(request, name, { [cap]: String(facts.writtenCap) });
    } else {
      patches[cap] = String(facts.writtenCap);
    }
  }
  if (needsOlderCap(request, facts.providerKind)) {
    patches.max_tokens = String(request.outputCap);
    patches.max_completion_tokens = "null";
  }
  const hasUsageOption = request.kind === "chat" || request.kind === "completion";
  if (hasUsageOption && request.isStream && !request.wantsUsage)
    patches.stream_options = streamOptions(request, facts.providerKind);
  return patches;
}

/** Fields to set in a form. */
export function formPatches(request: RouteRequest, facts: UpstreamFacts): FieldPatches {
  return isFormRequest(request) && request.model !== "" && facts.upstreamModel !== request.model
    ? { model: facts.upstreamModel }
    : {};
}
