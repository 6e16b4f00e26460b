/**
 * Which path leads where. OpenAI's routes exist under the base path of every vendor that speaks its format; the base
 * path says whose habits the answers have.
 */
import { handleCountTokens, handleMessages } from "./anthropic/messages";
import { handleChat } from "./chat";
import { handleEmbeddings } from "./embeddings";
import { RequestError } from "./errors";
import type { Exchange } from "./exchange";
import { handleGeminiCount, handleGenerate, handleStreamGenerate } from "./gemini/generate";
import { handleGeminiModel, handleGeminiModels, handleModel, handleModels, handleTags } from "./models";
import { handleOllamaChat } from "./ollama/chat";
import { handleCancelBatch, handleCreateBatch, handleListBatches, handleReadBatch } from "./openai/batches";
import { handleCompletions } from "./openai/completions";
import { handleDeleteFile, handleFileContent, handleListFiles, handleReadFile, handleUpload } from "./openai/files";
import { handleImageEdits, handleImageGenerations, handleImageVariations } from "./openai/images";
import { handleModerations } from "./openai/moderations";
import { handleRerank } from "./openai/rerank";
import {
  handleCancelResponse,
  handleDeleteResponse,
  handleInputItems,
  handleInputTokens,
  handleReadResponse,
  handleResponses,
} from "./openai/responses";
import { handleSpeech } from "./openai/speech";
import { handleTranscriptions, handleTranslations } from "./openai/transcriptions";
import type { Vendor } from "./vendors";

export interface Route {
  readonly vendor: Vendor;
  /** Path with names for its variable parts, as it is counted. */
  readonly template: string;
  readonly handle: (exchange: Exchange) => void;
  readonly reads: "json" | "json_or_form" | "nothing";
}

export interface FoundRoute {
  readonly route: Route;
  /** Variable parts of the path, in order. */
  readonly params: readonly string[];
}

type Method = "GET" | "POST" | "DELETE";
type RouteLine = readonly [method: Method, template: string, handle: Route["handle"], reads?: Route["reads"]];

const OPENAI_ROUTES: readonly RouteLine[] = [
  ["POST", "/chat/completions", handleChat],
  ["POST", "/embeddings", handleEmbeddings],
  ["POST", "/responses", handleResponses],
  ["POST", "/responses/input_tokens", handleInputTokens],
  ["GET", "/responses/{response}", handleReadResponse],
  ["DELETE", "/responses/{response}", handleDeleteResponse],
  ["GET", "/responses/{response}/input_items", handleInputItems],
  ["POST", "/responses/{response}/cancel", handleCancelResponse, "nothing"],
  ["POST", "/completions", handleCompletions],
  ["POST", "/images/generations", handleImageGenerations],
  ["POST", "/images/edits", handleImageEdits, "json_or_form"],
  ["POST", "/images/variations", handleImageVariations, "json_or_form"],
  ["POST", "/audio/transcriptions", handleTranscriptions, "json_or_form"],
  ["POST", "/audio/translations", handleTranslations, "json_or_form"],
  ["POST", "/audio/speech", handleSpeech],
  ["POST", "/moderations", handleModerations],
  ["POST", "/rerank", handleRerank],
  ["POST", "/files", handleUpload, "json_or_form"],
  ["GET", "/files", handleListFiles],
  ["GET", "/files/{file}", handleReadFile],
  ["DELETE", "/files/{file}", handleDeleteFile],
  ["GET", "/files/{file}/content", handleFileContent],
  ["POST", "/batches", handleCreateBatch],
  ["GET", "/batches", handleListBatches],
  ["GET", "/batches/{batch}", handleReadBatch],
  ["POST", "/batches/{batch}/cancel", handleCancelBatch, "nothing"],
  ["GET", "/models", handleModels],
  ["GET", "/models/{model}", handleModel],
];
const OPENAI_BASES: readonly (readonly [base: string, vendor: Vendor])[] = [
  ["/v1", "openai"],
  ["/openai/deployments/{deployment}", "azure"],
  ["/openai/v1", "azure"],
  ["/v1beta/openai", "gemini_compat"],
  ["/compatible-mode/v1", "dashscope"],
  ["/api/paas/v4", "zhipu"],
  ["/api/v3", "ark"],
  ["/v2", "qianfan"],
  ["", "deepseek"],
];
const OTHER_ROUTES: readonly (readonly [vendor: Vendor, ...line: RouteLine])[] = [
  ["anthropic", "POST", "/v1/messages", handleMessages],
  ["anthropic", "POST", "/v1/messages/count_tokens", handleCountTokens],
  ["anthropic", "POST", "/anthropic/v1/messages", handleMessages],
  ["anthropic", "POST", "/anthropic/v1/messages/count_tokens", handleCountTokens],
  ["gemini", "POST", "/v1beta/models/{model}:generateContent", handleGenerate],
  ["gemini", "POST", "/v1beta/models/{model}:streamGenerateContent", handleStreamGenerate],
  ["gemini", "POST", "/v1beta/models/{model}:countTokens", handleGeminiCount],
  ["ollama", "POST", "/api/chat", handleOllamaChat],
  ["gemini", "GET", "/v1beta/models", handleGeminiModels],
  ["gemini", "GET", "/v1beta/models/{model}", handleGeminiModel],
  ["ollama", "GET", "/api/tags", handleTags],
];

interface Pattern {
  readonly expression: RegExp;
  readonly byMethod: Partial<Record<string, Route>>;
}

/** Paths without variable parts. */
const EXACT = new Map<string, Partial<Record<string, Route>>>();
const PATTERNS = new Map<string, Pattern>();

for (const [vendor, ...line] of OTHER_ROUTES) addRoute(vendor, "", line);
for (const [base, vendor] of OPENAI_BASES) for (const line of OPENAI_ROUTES) addRoute(vendor, base, line);

function addRoute(vendor: Vendor, base: string, [method, tail, handle, reads]: RouteLine): void {
  const template = base + tail;
  const route: Route = { vendor, template, handle, reads: reads ?? (method === "POST" ? "json" : "nothing") };
  if (!template.includes("{")) {
    EXACT.set(template, { ...EXACT.get(template), [method]: route });
    return;
  }
  const expression = new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "([^/]+)")}$`);
  PATTERNS.set(template, { expression, byMethod: { ...PATTERNS.get(template)?.byMethod, [method]: route } });
}

/** The route of a request, or undefined for a path that no vendor has. */
export function findRoute(method: string, path: string): FoundRoute | undefined {
  const exact = EXACT.get(path);
  if (exact !== undefined) return { route: exact[method] ?? refusedMethod(exact, method), params: [] };
  for (const { expression, byMethod } of PATTERNS.values()) {
    const match = expression.exec(path);
    if (match === null) continue;
    const params = match.slice(1).map(decoded);
    return { route: byMethod[method] ?? refusedMethod(byMethod, method), params };
  }
  return undefined;
}

/** A part that is not well encoded names nothing that exists, so it is left as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A known path that has no such method. */
function refusedMethod(byMethod: Partial<Record<string, Route>>, method: string): Route {
  const [known] = Object.values(byMethod);
  const { vendor, template } = known ?? { vendor: "openai" as const, template: "other" };
  const handle = (): never => {
    throw new RequestError(405, "method_not_supported", `Not allowed to ${method} on ${template}.`);
  };
  return { vendor, template, handle, reads: "nothing" };
}
