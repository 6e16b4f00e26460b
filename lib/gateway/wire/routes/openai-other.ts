/**
 * Embeddings, moderations, rerank, images and speech (OpenAI API reference; rerank as Cohere and Jina define it and vLLM
 * serves it: model, query, documents, top_n).
 */
import type { Denial } from "@/lib/domain/denial";
import type { Body } from "./fields";
import {
  endUserOf,
  flag,
  given,
  guessTokens,
  Invalid,
  isBody,
  modelOf,
  parseJsonBody,
  textOf,
  TOKENS_PER_MEDIA_PART,
  wholeNumber,
  wordOf,
} from "./fields";
import { utf8Length } from "../utf8-length";
import { imageOutputTokens, imagesAsked } from "./image-tokens";
import type { JsonRequest, RequestShape } from "./route-request";
import { NO_EXTRAS } from "./route-request";

const DEFAULT_MODERATION_MODEL = "omni-moderation-latest";
/** Cohere counts a document of more than 500 tokens, with the query, as several; a unit is up to 100 documents. */
const TOKENS_PER_DOCUMENT = 500;
const DOCUMENTS_PER_UNIT = 100;
/** gpt-4o-mini-tts makes about 21 audio tokens a second; the slowest reading is some three letters a second. */
const AUDIO_TOKENS_PER_CHARACTER = 8;

/** The members all calls without tokens of output share. */
function plainShape(body: Body, bodyBytes: number, guessed: unknown): Omit<RequestShape, "kind" | "model"> {
  return {
    isStream: false,
    wantsUsage: false,
    outputCap: 0,
    choices: 1,
    inputBound: bodyBytes,
    inputGuess: () => guessTokens(guessed),
    extraOutput: 0,
    endUser: endUserOf(body),
    extras: NO_EXTRAS,
  };
}

export function embeddingShape(body: Body, bodyBytes: number): RequestShape {
  const { input } = body;
  const isIds = (item: unknown) => Array.isArray(item) && item.every((id) => Number.isInteger(id) && Number(id) >= 0);
  const isText = typeof input === "string" && input !== "";
  const isList =
    Array.isArray(input) &&
    input.length > 0 &&
    (input.every((item) => typeof item === "string") || isIds(input) || input.every(isIds));
  if (!isText && !isList) throw new Invalid("input", "input must be a text, a list of texts or lists of token ids");
  const ids = () => (Array.isArray(input) ? input.flat().filter((item) => typeof item === "number").length : 0);
  return {
    ...plainShape(body, bodyBytes, input),
    model: modelOf(body),
    kind: "embedding",
    inputGuess: () => ids() || guessTokens(input),
  };
}

function moderationShape(body: Body, bodyBytes: number): RequestShape {
  const input = given(body, "input");
  const isList =
    Array.isArray(input) && input.length > 0 && input.every((item) => typeof item === "string" || isBody(item));
  if (typeof input !== "string" && !isList)
    throw new Invalid("input", "input must be a text, a list of texts or a list of parts");
  const pictures = isList ? input.filter((item) => isBody(item) && item.type !== "text").length : 0;
  return {
    ...plainShape(body, bodyBytes, input),
    model: given(body, "model") === undefined ? DEFAULT_MODERATION_MODEL : modelOf(body),
    kind: "moderation",
    inputBound: bodyBytes + pictures * TOKENS_PER_MEDIA_PART,
  };
}

function rerankShape(body: Body, bodyBytes: number): RequestShape {
  const { query, documents } = body;
  if (typeof query !== "string" || query === "") throw new Invalid("query", "query must be a text");
  const isDocument = (item: unknown) => typeof item === "string" || isBody(item);
  if (!Array.isArray(documents) || documents.length === 0 || !documents.every(isDocument))
    throw new Invalid("documents", "documents must be a list of texts or objects");
  const pieces = documents.length + Math.ceil(bodyBytes / TOKENS_PER_DOCUMENT);
  return {
    ...plainShape(body, bodyBytes, [query, documents]),
    model: modelOf(body),
    kind: "rerank",
    // The query is read once with every document.
    inputBound: bodyBytes + utf8Length(query) * documents.length,
    extras: { ...NO_EXTRAS, documents: documents.length, searchUnits: Math.ceil(pieces / DOCUMENTS_PER_UNIT) },
  };
}

function imageShape(body: Body, bodyBytes: number): RequestShape {
  const prompt = textOf(body, "prompt");
  if (prompt === null || prompt === "") throw new Invalid("prompt", "prompt must be a text");
  const images = imagesAsked({
    count: wholeNumber(body, "n", 1, 10),
    size: wordOf(body, "size"),
    quality: wordOf(body, "quality"),
    partials: wholeNumber(body, "partial_images", 0, 3),
  });
  const sources = [body.image, body.images, body.mask].flat().filter((item) => item !== undefined && item !== null);
  return {
    ...plainShape(body, bodyBytes, prompt),
    model: modelOf(body),
    kind: "image",
    isStream: flag(body, "stream"),
    outputCap: imageOutputTokens(images),
    choices: images.count,
    inputBound: bodyBytes + sources.length * TOKENS_PER_MEDIA_PART,
    extras: { ...NO_EXTRAS, images },
  };
}

function speechShape(body: Body, bodyBytes: number): RequestShape {
  const input = textOf(body, "input");
  if (input === null || input === "") throw new Invalid("input", "input must be a text");
  const format = wordOf(body, "stream_format");
  // Code points, which is what is billed; a pair of surrogates is one.
  const characters = input.length - (input.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
  return {
    ...plainShape(body, bodyBytes, input),
    model: modelOf(body),
    kind: "speech",
    isStream: format === "sse",
    outputCap: input.length * AUDIO_TOKENS_PER_CHARACTER,
    extras: { ...NO_EXTRAS, hasAudioOutput: true, characters },
  };
}

export function parseEmbedding(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, embeddingShape);
}

export function parseModeration(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, moderationShape);
}

export function parseRerank(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, rerankShape);
}

/** Generations, and edits whose pictures are given as JSON. */
export function parseImage(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, imageShape);
}

export function parseSpeech(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, speechShape);
}
