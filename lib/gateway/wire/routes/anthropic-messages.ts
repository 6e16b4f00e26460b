/** Anthropic messages and messages/count_tokens (API reference; field names of the official SDK's MessageCreateParams). */
import type { Denial } from "@/lib/domain/denial";
import type { Body } from "./fields";
import {
  endUserOf,
  flag,
  given,
  guessTokens,
  Invalid,
  isBody,
  MAX_OUTPUT_TOKENS,
  modelOf,
  objectOf,
  objectsOf,
  parseJsonBody,
  partTypes,
  TOKENS_PER_MEDIA_PART,
  wholeNumber,
  wordOf,
} from "./fields";
import type { JsonRequest, RequestExtras, RequestShape, ToolFee } from "./route-request";
import { NO_EXTRAS } from "./route-request";

const MAX_CALLS = 1_000_000;
const FRAMING_TOKENS_PER_MESSAGE = 5;
/** The system prompt that tool use adds, and the schema a tool of Anthropic's own stands for. */
const TOOL_FRAMING_TOKENS = 1000;
const TOKENS_PER_ANTHROPIC_TOOL = 5000;

/**
 * Versioned tools of Anthropic's that the caller runs. All others run at Anthropic, also those that are newer than this list: some
 * have a fee, and one (`advisor`) asks another, dearer model.
 */
const CALLERS_TOOL = /^(bash|text_editor|computer|memory)_/u;
/** Blocks whose tokens their bytes do not bound. */
const UNBOUNDED_BLOCKS = new Set(["document", "container_upload"]);

interface ToolReading {
  readonly fees: readonly ToolFee[];
  readonly tokens: number;
}

function readTools(body: Body): ToolReading {
  const tools = objectsOf(body, "tools");
  const fees: ToolFee[] = [];
  let tokens = tools.length > 0 ? TOOL_FRAMING_TOKENS : 0;
  tools.forEach((tool, index) => {
    const type = wordOf(tool, "type", `tools[${index}].type`) ?? "custom";
    if (type === "custom") return;
    tokens += TOKENS_PER_ANTHROPIC_TOOL;
    const maxCalls = wholeNumber(tool, "max_uses", 0, MAX_CALLS, `tools[${index}].max_uses`);
    if (!CALLERS_TOOL.test(type)) fees.push({ tool: type, maxCalls, size: null });
  });
  return { fees, tokens };
}

/** The longest life that any `cache_control` of the body asks for. */
function cacheTtl(value: unknown): "5m" | "1h" | null {
  if (Array.isArray(value)) return longest(value.map(cacheTtl));
  if (!isBody(value)) return null;
  const own = given(value, "cache_control");
  const found = longest(["content", "source"].map((name) => cacheTtl(value[name])));
  if (own === undefined) return found;
  if (!isBody(own)) throw new Invalid("cache_control", "cache_control must be an object");
  const ttl = wordOf(own, "ttl", "cache_control.ttl") ?? "5m";
  if (ttl !== "5m" && ttl !== "1h") throw new Invalid("cache_control.ttl", "cache_control.ttl must be 5m or 1h");
  return longest([ttl, found]);
}

function longest(lives: readonly ("5m" | "1h" | null)[]): "5m" | "1h" | null {
  return lives.includes("1h") ? "1h" : lives.includes("5m") ? "5m" : null;
}

function systemOf(body: Body): unknown {
  const system = given(body, "system");
  const isBlocks = Array.isArray(system) && system.every(isBody);
  if (system !== undefined && typeof system !== "string" && !isBlocks)
    throw new Invalid("system", "system must be a text or a list of blocks");
  return system;
}

function messagesOf(body: Body): readonly Body[] {
  const messages = objectsOf(body, "messages");
  if (messages.length === 0) throw new Invalid("messages", "messages must be a list with at least one message");
  messages.forEach(({ content }, index) => {
    const isBlocks = Array.isArray(content) && content.every(isBody);
    if (typeof content !== "string" && !isBlocks) {
      const name = `messages[${index}].content`;
      throw new Invalid(name, `${name} must be a text or a list of blocks`);
    }
  });
  return messages;
}

function thinkingBudget(body: Body): void {
  const thinking = objectOf(body, "thinking");
  // Part of max_tokens; checked because a wrong one would be a wrong idea of what is bought.
  if (thinking) wholeNumber(thinking, "budget_tokens", 1, MAX_OUTPUT_TOKENS, "thinking.budget_tokens");
}

function extrasOf(body: Body, messages: readonly Body[], tools: ToolReading): RequestExtras {
  const types = messages.flatMap((message) => partTypes(message.content));
  const reaches = ["container", "mcp_servers", "context_management"].some((name) => given(body, name) !== undefined);
  const hasFile = messages.some((message) => hasFileSource(message.content));
  return {
    ...NO_EXTRAS,
    isContextUnbounded: reaches || hasFile || tools.fees.length > 0 || types.some((type) => UNBOUNDED_BLOCKS.has(type)),
    serviceTier: wordOf(body, "service_tier"),
    speed: wordOf(body, "speed"),
    region: wordOf(body, "inference_geo"),
    cacheWriteTtl: longest([
      cacheTtl({ cache_control: body.cache_control }),
      ...[body.system, body.tools, messages].map(cacheTtl),
    ]),
    toolFees: tools.fees,
  };
}

function hasFileSource(content: unknown): boolean {
  if (Array.isArray(content)) return content.some(hasFileSource);
  if (!isBody(content)) return false;
  return (isBody(content.source) && content.source.type === "file") || hasFileSource(content.content);
}

function promptShape(body: Body, bodyBytes: number) {
  const messages = messagesOf(body);
  const system = systemOf(body);
  const tools = readTools(body);
  thinkingBudget(body);
  const framing = messages.length * FRAMING_TOKENS_PER_MESSAGE + tools.tokens;
  const pictures = messages.flatMap((message) => partTypes(message.content)).filter((type) => type === "image").length;
  const metadata = objectOf(body, "metadata");
  return {
    model: modelOf(body),
    wantsUsage: true,
    choices: 1,
    inputBound: bodyBytes + framing + pictures * TOKENS_PER_MEDIA_PART,
    inputGuess: () => guessTokens([system, messages, body.tools]) + messages.length * FRAMING_TOKENS_PER_MESSAGE,
    extraOutput: 0,
    endUser: metadata ? endUserOf(metadata, "user_id", "metadata.user_id") : null,
    extras: extrasOf(body, messages, tools),
  };
}

function messagesShape(body: Body, bodyBytes: number): RequestShape {
  // Zero only fills the cache.
  const outputCap = wholeNumber(body, "max_tokens", 0, MAX_OUTPUT_TOKENS);
  if (outputCap === null) throw new Invalid("max_tokens", "max_tokens is required");
  return { ...promptShape(body, bodyBytes), kind: "messages", isStream: flag(body, "stream"), outputCap };
}

/** Counting is free and generates nothing; the model and the body are still governed. */
function countShape(body: Body, bodyBytes: number): RequestShape {
  const shape = promptShape(body, bodyBytes);
  return { ...shape, kind: "count_tokens", isStream: false, outputCap: 0, inputBound: 0, inputGuess: () => 0 };
}

export function parseMessages(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, messagesShape);
}

export function parseCountTokens(bytes: Uint8Array): JsonRequest | Denial {
  return parseJsonBody(bytes, countShape);
}
