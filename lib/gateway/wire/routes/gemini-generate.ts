/**
 * Gemini generateContent, its stream, and countTokens (Google's generativelanguage v1beta reference). The server reads
 * protocol buffers in JSON, so every member has two spellings: both are read, and giving both is refused.
 */
import type { Denial } from "@/lib/domain/denial";
import type { Body } from "./fields";
import {
  given,
  guessTokens,
  Invalid,
  isBody,
  MAX_OUTPUT_TOKENS,
  modelNamed,
  parseJsonBody,
  TOKENS_PER_MEDIA_PART,
  wholeNumber,
} from "./fields";
import type { JsonRequest, RequestShape, ToolFee } from "./route-request";
import { NO_EXTRAS } from "./route-request";

export interface GeminiPath {
  readonly model: string;
  readonly action: "generateContent" | "streamGenerateContent" | "countTokens";
  /** `alt=sse`: without it a stream is one JSON list, which is metered as a whole answer. */
  readonly isSse: boolean;
}

const MAX_CANDIDATES = 8;
const FRAMING_TOKENS_PER_TURN = 5;
const PATH = /^models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/u;

/** Reads `models/{model}:{action}`; undefined for other paths. */
export function geminiPath(path: string, query: string): GeminiPath | undefined {
  const found = PATH.exec(path);
  const model = found?.[1];
  const action = found?.[2];
  if (model === undefined || action === undefined) return undefined;
  return {
    model: decoded(model),
    action: action as GeminiPath["action"],
    isSse: new URLSearchParams(query).get("alt") === "sse",
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

/** The spelling of a member that is there: camel case where neither is. */
export function spellingOf(body: Body, name: string, label = name): string {
  const other = snake(name);
  if (other === name || body[other] === undefined) return name;
  if (body[name] !== undefined) throw new Invalid(label, `${label} is given in two spellings`);
  return other;
}

function member(body: Body, name: string, label = name): unknown {
  return given(body, spellingOf(body, name, label));
}

function memberObject(body: Body, name: string): Body {
  const value = member(body, name);
  if (value === undefined) return {};
  if (!isBody(value)) throw new Invalid(name, `${name} must be an object`);
  return value;
}

function memberObjects(body: Body, name: string, label = name): readonly Body[] {
  const value = member(body, name, label);
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every(isBody)) throw new Invalid(label, `${label} must be a list of objects`);
  return value;
}

function memberNumber(body: Body, name: string, low: number, high: number): number | null {
  const label = `generationConfig.${name}`;
  return wholeNumber(body, spellingOf(body, name, label), low, high, label);
}

const CALLERS_TOOLS = new Set(["functionDeclarations", "function_declarations"]);

function toolFees(body: Body): readonly ToolFee[] {
  return memberObjects(body, "tools")
    .flatMap((tool) => Object.keys(tool))
    .filter((name) => !CALLERS_TOOLS.has(name))
    .map((name) => ({ tool: snake(name), maxCalls: null, size: null }));
}

interface Parts {
  readonly media: number;
  readonly hasFile: boolean;
}

function readParts(contents: readonly Body[]): Parts {
  const parts = contents.flatMap((content, index) => memberObjects(content, "parts", `contents[${index}].parts`));
  const inline = parts.flatMap((part) => {
    const data = member(part, "inlineData");
    return isBody(data) ? [member(data, "mimeType")] : [];
  });
  return {
    media: inline.length,
    // Pages and seconds of stored files, documents, audio and video are not in the bytes.
    hasFile:
      parts.some((part) => member(part, "fileData") !== undefined) ||
      inline.some((type) => typeof type !== "string" || !type.startsWith("image/")),
  };
}

function shapeAt(path: GeminiPath) {
  return (body: Body, bodyBytes: number): RequestShape => {
    const model = modelNamed(path.model);
    const named = given(body, "model");
    if (named !== undefined && named !== model && named !== `models/${model}`)
      throw new Invalid("model", "model must be the one in the path");
    const isCount = path.action === "countTokens";
    const inner = isCount ? memberObject(body, "generateContentRequest") : {};
    const contents = memberObjects(body, "contents");
    if (contents.length === 0 && Object.keys(inner).length === 0)
      throw new Invalid("contents", "contents must be a list with at least one turn");
    const config = memberObject(body, "generationConfig");
    const parts = readParts(contents);
    const fees = toolFees(body);
    const framing = contents.length * FRAMING_TOKENS_PER_TURN;
    return {
      model,
      kind: isCount ? "gemini_count" : "gemini",
      isStream: path.action === "streamGenerateContent" && path.isSse,
      wantsUsage: true,
      // Thoughts count towards it.
      outputCap: isCount ? 0 : memberNumber(config, "maxOutputTokens", 1, MAX_OUTPUT_TOKENS),
      choices: memberNumber(config, "candidateCount", 1, MAX_CANDIDATES) ?? 1,
      inputBound: isCount ? 0 : bodyBytes + framing + parts.media * TOKENS_PER_MEDIA_PART,
      inputGuess: () => (isCount ? 0 : guessTokens([contents, member(body, "systemInstruction")]) + framing),
      extraOutput: 0,
      endUser: null,
      extras: {
        ...NO_EXTRAS,
        isContextUnbounded: parts.hasFile || fees.length > 0 || member(body, "cachedContent") !== undefined,
        toolFees: fees,
      },
    };
  };
}

export function parseGemini(bytes: Uint8Array, path: GeminiPath): JsonRequest | Denial {
  return parseJsonBody(bytes, shapeAt(path));
}
