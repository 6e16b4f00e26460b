/** Lists what is for sale, in the shape of each vendor; also what a connection test asks. */
import { answerJson } from "./answer";
import { unknownModel } from "./errors";
import type { Exchange } from "./exchange";
import { findModel, MODELS, type SandboxModel } from "./prices";

const CREATED_SECONDS = 1_767_225_600;
const OPENAI_JSON = new Map(
  MODELS.map(({ id }) => [id, JSON.stringify({ id, object: "model", created: CREATED_SECONDS, owned_by: "sandbox" })]),
);
const CREATED_AT = new Date(CREATED_SECONDS * 1000).toISOString();
const CONTEXT_TOKENS = 1_048_576;

export function handleModels(exchange: Exchange): void {
  if (exchange.request.header("anthropic-version") !== undefined) {
    const data = MODELS.map(({ id }) => anthropicModel(id));
    const page = { data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id };
    answerJson(exchange, undefined, JSON.stringify(page));
    return;
  }
  answerJson(exchange, undefined, `{"object":"list","data":[${[...OPENAI_JSON.values()].join(",")}]}`);
}

export function handleModel(exchange: Exchange): void {
  const { id } = modelOfPath(exchange);
  const isAnthropic = exchange.request.header("anthropic-version") !== undefined;
  answerJson(exchange, undefined, isAnthropic ? JSON.stringify(anthropicModel(id)) : (OPENAI_JSON.get(id) ?? ""));
}

export function handleGeminiModels(exchange: Exchange): void {
  answerJson(exchange, undefined, JSON.stringify({ models: MODELS.map(geminiModel) }));
}

export function handleGeminiModel(exchange: Exchange): void {
  answerJson(exchange, undefined, JSON.stringify(geminiModel(modelOfPath(exchange))));
}

/** GET /api/tags of Ollama. */
export function handleTags(exchange: Exchange): void {
  const models = MODELS.map(({ id }) => ({ name: id, model: id, modified_at: CREATED_AT, size: 1, digest: "sandbox" }));
  answerJson(exchange, undefined, JSON.stringify({ models }));
}

function modelOfPath({ params }: Exchange): SandboxModel {
  const id = params[0] ?? "";
  const model = findModel(id);
  if (model === undefined) throw unknownModel(id);
  return model;
}

function anthropicModel(id: string): { readonly id: string } {
  return Object.assign({ type: "model", id }, { display_name: id, created_at: CREATED_AT });
}

function geminiModel({ id }: SandboxModel): object {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: CONTEXT_TOKENS,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}
