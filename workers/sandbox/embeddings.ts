/**
 * POST /v1/embeddings. Vectors are made by feature hashing (words, and pairs of neighbouring characters), normalised:
 * the same text always gives the same vector, and texts that share words are close, which is all a test needs.
 */
import { Buffer } from "node:buffer";
import { answerJson } from "./answer";
import type { SandboxControl } from "./control-fields";
import { RequestError, unknownModel } from "./errors";
import type { Call, Exchange, Metered } from "./exchange";
import { findModel, type SandboxModel } from "./prices";
import { countInputTokens } from "./tokens";

type EmbeddingInput = string | readonly number[];

const DEFAULT_DIMENSIONS = 256;
const MAX_DIMENSIONS = 3_072;
const MAX_INPUTS = 2_048;
const MAX_TOKENS_PER_INPUT = 8_192;

export function handleEmbeddings(exchange: Exchange): void {
  const { metered, json } = embeddingsAnswer(exchange);
  answerJson(exchange, metered, json);
}

export function embeddingsAnswer({ body, control }: Call): { metered: Metered; json: string } {
  const model = embeddingModel(body.model);
  const inputs = readInputs(body.input);
  const dimensions = readDimensions(body.dimensions);
  const isBase64 = readIsBase64(body.encoding_format);
  const counted = inputs.reduce((sum, input) => sum + countInputTokens(input), 0);
  const promptTokens = control.promptTokens ?? counted;
  const metered: Metered = { model, stream: false, promptTokens, cachedTokens: 0, completionTokens: 0 };
  const data = inputs.map((input, index) => {
    const vector = embed(input, dimensions);
    const embedding = isBase64 ? `"${base64Of(vector)}"` : `[${vector.join(",")}]`;
    return `{"object":"embedding","index":${index},"embedding":${embedding}}`;
  });
  const usage = embeddingsUsage(control, promptTokens);
  const answerModel = control.answerModel ?? model.id;
  const json = `{"object":"list","data":[${data.join(",")}],"model":"${answerModel}"${usage}}`;
  return { metered, json };
}

function embeddingsUsage(control: SandboxControl, promptTokens: number): string {
  if (control.usage !== undefined) return `,"usage":${JSON.stringify(control.usage)}`;
  if (control.fault === "no_usage") return "";
  const reported = control.fault === "zero_usage" ? 0 : promptTokens;
  return `,"usage":{"prompt_tokens":${reported},"total_tokens":${reported}}`;
}

function embeddingModel(id: unknown): SandboxModel {
  if (typeof id !== "string")
    throw new RequestError(400, "missing_required_parameter", "you must provide a model parameter");
  const model = findModel(id);
  if (model === undefined) throw unknownModel(id);
  if (model.endpoint === "embeddings") return model;
  throw new RequestError(403, null, "You are not allowed to generate embeddings from this model", "model");
}

function readInputs(input: unknown): readonly EmbeddingInput[] {
  const inputs = isTokenIds(input) || !Array.isArray(input) ? [input] : input;
  if (inputs.length === 0 || inputs.length > MAX_INPUTS) throw invalidInput(`give 1 to ${MAX_INPUTS} inputs`);
  return inputs.map((item: unknown) => {
    if (!(typeof item === "string" && item !== "") && !isTokenIds(item)) {
      throw invalidInput("give a text, token ids, or an array of them, none empty");
    }
    if (countInputTokens(item) > MAX_TOKENS_PER_INPUT) throw invalidInput(`at most ${MAX_TOKENS_PER_INPUT} tokens`);
    return item;
  });
}

function isTokenIds(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id));
}

function invalidInput(reason: string): RequestError {
  return new RequestError(400, "invalid_value", `Invalid 'input': ${reason}.`, "input");
}

function readDimensions(value: unknown): number {
  if (value === undefined) return DEFAULT_DIMENSIONS;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_DIMENSIONS) return value;
  throw new RequestError(400, "invalid_value", `'dimensions' must be from 1 to ${MAX_DIMENSIONS}.`, "dimensions");
}

function readIsBase64(value: unknown): boolean {
  if (value === "base64") return true;
  if (value === undefined || value === "float") return false;
  throw new RequestError(400, "invalid_value", "'encoding_format' must be float or base64.", "encoding_format");
}

function embed(input: EmbeddingInput, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const feature of featuresOf(input)) {
    const hash = hashOf(feature);
    const slot = (hash >>> 1) % dimensions;
    vector[slot] = (vector[slot] ?? 0) + ((hash & 1) === 1 ? 1 : -1);
  }
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) {
    vector[0] = 1;
    return vector;
  }
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}

function featuresOf(input: EmbeddingInput): string[] {
  if (typeof input !== "string") return input.map(String);
  const text = input.toLowerCase();
  const features = text.split(/\s+/);
  for (let index = 0; index + 1 < text.length; index += 1) features.push(text.slice(index, index + 2));
  return features;
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Little-endian 32-bit floats, as OpenAI sends them. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString("base64");
}
