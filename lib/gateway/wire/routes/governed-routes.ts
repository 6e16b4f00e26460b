/** Every route the gateway governs: whose SDK speaks there, how its body is read, which kinds of models serve it. */
import type { Denial } from "@/lib/domain/denial";
import { parseOpenAiRequest } from "../openai-request";
import type { Form } from "./form";
import { parseJsonBody } from "./fields";
import type { FormRequest, JsonRequest, Protocol, RouteKind } from "./route-request";
import { NO_EXTRAS } from "./route-request";
import { routeAt } from "./route-table";

export interface GovernedRoute {
  /** Name in the ledger. */
  readonly route: string;
  readonly protocol: Protocol;
  /** Kinds of models that may be named. */
  readonly kinds: readonly string[];
  readonly parseJson?: (bytes: Uint8Array) => JsonRequest | Denial;
  readonly parseForm?: (form: Form) => FormRequest | Denial;
}

const CHAT = ["chat"];
/** By the first segments of a route. */
const KINDS: readonly (readonly [prefix: string, kinds: readonly string[]])[] = [
  ["completions", ["completion", "chat"]],
  ["embeddings", ["embedding"]],
  ["moderations", ["moderation"]],
  ["rerank", ["rerank"]],
  ["images/", ["image"]],
  ["audio/speech", ["speech"]],
  ["audio/", ["transcription"]],
];

function kindsOf(route: string): readonly string[] {
  return KINDS.find(([prefix]) => route.startsWith(prefix))?.[1] ?? CHAT;
}

/** What most calls are, found without a search and read quickly. */
const QUICK: Readonly<Record<string, GovernedRoute>> = {
  "chat/completions": {
    route: "chat/completions",
    protocol: "openai",
    kinds: CHAT,
    parseJson: (bytes) => parseOpenAiRequest(bytes, "chat"),
  },
  embeddings: {
    route: "embeddings",
    protocol: "openai",
    kinds: ["embedding"],
    parseJson: (bytes) => parseOpenAiRequest(bytes, "embedding"),
  },
};

/** The governed route at a path behind `/v1/` or `/v1beta/`; undefined for other paths. */
export function governedRoute(path: string, query: string): GovernedRoute | undefined {
  const quick = Object.hasOwn(QUICK, path) ? QUICK[path] : undefined;
  if (quick) return quick;
  const found = routeAt(path, query);
  // Files and batches outlive a call: without a register of whose they are, they are not served.
  if (!found || found.route === "files") return undefined;
  return { ...found, kinds: kindsOf(found.route) };
}

/**
 * Any other path, for which an organisation may have a model of the kind `passthrough` with that path as its name and a price
 * for each request. The body goes on as it came.
 */
export function passthroughRoute(path: string): GovernedRoute {
  const kind: RouteKind = "passthrough";
  const shape = {
    model: path,
    kind,
    isStream: false,
    wantsUsage: true,
    outputCap: 0,
    choices: 1,
    inputBound: 0,
    inputGuess: () => 0,
    extraOutput: 0,
    endUser: null,
    extras: NO_EXTRAS,
  };
  return {
    route: "passthrough",
    protocol: "openai",
    kinds: ["passthrough"],
    parseJson: (bytes) => parseJsonBody(bytes, () => shape),
  };
}

/** Whose errors a path gets, governed or not. */
export function protocolOf(path: string, isGeminiBase: boolean, anthropicVersion: string | null): Protocol {
  if (path === "messages" || path.startsWith("messages/") || anthropicVersion !== null) return "anthropic";
  return isGeminiBase || /^models\/[^/]+:/u.test(path) ? "gemini" : "openai";
}
