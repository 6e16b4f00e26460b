/** Governed routes: whose SDK speaks there, and how its body is read. Paths are those behind `/v1/` (Gemini: `/v1beta/`). */
import type { Denial } from "@/lib/domain/denial";
import { parseCountTokens, parseMessages } from "./anthropic-messages";
import type { Form } from "./form";
import { parseFile, parseImageForm, parseTranscription } from "./form-routes";
import { geminiPath, parseGemini } from "./gemini-generate";
import { parseChat, parseCompletion, parseResponses } from "./openai-chat";
import { parseEmbedding, parseImage, parseModeration, parseRerank, parseSpeech } from "./openai-other";
import type { FormRequest, JsonRequest, Protocol } from "./route-request";

export interface BodyRoute {
  /** Name in the ledger; the path, but for Gemini, whose path holds the model. */
  readonly route: string;
  readonly protocol: Protocol;
  /** Undefined where the route does not take that kind of body. */
  readonly parseJson?: (bytes: Uint8Array) => JsonRequest | Denial;
  readonly parseForm?: (form: Form) => FormRequest | Denial;
}

const ROUTES: Readonly<Record<string, Omit<BodyRoute, "route">>> = {
  "chat/completions": { protocol: "openai", parseJson: parseChat },
  responses: { protocol: "openai", parseJson: parseResponses },
  completions: { protocol: "openai", parseJson: parseCompletion },
  embeddings: { protocol: "openai", parseJson: parseEmbedding },
  moderations: { protocol: "openai", parseJson: parseModeration },
  rerank: { protocol: "openai", parseJson: parseRerank },
  "images/generations": { protocol: "openai", parseJson: parseImage },
  "images/edits": { protocol: "openai", parseJson: parseImage, parseForm: parseImageForm },
  "images/variations": { protocol: "openai", parseForm: parseImageForm },
  "audio/speech": { protocol: "openai", parseJson: parseSpeech },
  "audio/transcriptions": { protocol: "openai", parseForm: parseTranscription },
  "audio/translations": { protocol: "openai", parseForm: parseTranscription },
  files: { protocol: "openai", parseForm: parseFile },
  messages: { protocol: "anthropic", parseJson: parseMessages },
  "messages/count_tokens": { protocol: "anthropic", parseJson: parseCountTokens },
};

/** The governed route at a path, without leading slash; undefined where there is none. `query` is without its `?`. */
export function routeAt(path: string, query: string): BodyRoute | undefined {
  const known = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  if (known) return { route: path, ...known };
  const gemini = geminiPath(path, query);
  if (!gemini) return undefined;
  return {
    route: `models/${gemini.action}`,
    protocol: "gemini",
    parseJson: (bytes) => parseGemini(bytes, gemini),
  };
}
