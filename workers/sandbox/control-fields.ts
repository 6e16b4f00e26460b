/** What a control may hold and within which bounds; see README.md for what each field does. */
import { VENDORS, type Vendor } from "./vendors";

export const FAULTS = [
  "cut_stream",
  "no_usage",
  "zero_usage",
  "usage_twice",
  "half_json",
  "close_socket",
  "wrong_gzip",
  "error_in_stream",
  "failed_response",
  "empty_id_usage",
  "hang",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Errors by name, each with the status, the body and the headers of the vendor whose wire format the call speaks. */
export const ERROR_NAMES = [
  "insufficient_quota",
  "rate_limit",
  "context_length",
  "content_filter",
  "overloaded",
  "auth",
  "permission",
  "not_found",
  "server_error",
  "timeout",
] as const;
export type ErrorName = (typeof ERROR_NAMES)[number];

/** Counts are tokens, `retryAfter` is seconds, the rest has its unit in its name. All fields are optional. */
export interface SandboxControl {
  readonly promptTokens?: number;
  /** Of all choices together, reasoning included. */
  readonly completionTokens?: number;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly cacheWrite1hTokens?: number;
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  readonly imageInputTokens?: number;
  /** Gemini's tool-use prompt tokens, beside the prompt tokens. */
  readonly toolPromptTokens?: number;
  /** Web searches of the call. */
  readonly searches?: number;
  readonly audioSeconds?: number;
  /** Tool calls in each choice instead of text. */
  readonly toolCalls?: number;
  /** Reads of a batch or of a background response that still find it unfinished. */
  readonly polls?: number;
  /** Reads that find a batch answered, but its files not written. */
  readonly finalizingPolls?: number;
  /** The output file of a batch is gone as soon as it is written. */
  readonly loseOutput?: boolean;
  /** Lines of a batch that are done when it is cancelled or expires. */
  readonly finishedLines?: number;
  /** How a batch ends. */
  readonly batchEnd?: "completed" | "failed" | "expired";
  /** Wait before the first byte of the answer. */
  readonly latencyMs?: number;
  /** Wait between the head of the answer and its body. */
  readonly bodyDelayMs?: number;
  /** Wait after each content chunk of a stream. */
  readonly chunkDelayMs?: number;
  readonly tokensPerChunk?: number;
  /** Answer with this error status. */
  readonly status?: number;
  readonly error?: ErrorName;
  readonly errorCode?: string;
  readonly errorType?: string;
  readonly errorMessage?: string;
  readonly retryAfter?: number;
  readonly retryAfterMs?: number;
  readonly fault?: Fault;
  /** Content chunks that precede the fault of a stream. */
  readonly cutAfterChunks?: number;
  /** Break the connection after so many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Send the body in pieces of so many bytes, wherever they fall. */
  readonly splitAt?: number;
  /** Line ends of a stream are CRLF. */
  readonly crlf?: boolean;
  /** A comment line after every so many events. */
  readonly commentEvery?: number;
  /** Comment lines before a stream, blank lines before a JSON answer. */
  readonly keepAlives?: number;
  /** Bytes by which the answer grows: a field of JSON, a comment of a stream. */
  readonly padBytes?: number;
  /** The answer is made of characters of three and four bytes. */
  readonly multibyte?: boolean;
  readonly redirect?: string;
  readonly redirectStatus?: 302 | 307;
  /** Says that this model answered. */
  readonly answerModel?: string;
  readonly finishReason?: string;
  /** The tier that served the call; priced accordingly. */
  readonly serviceTier?: string;
  /** Stands in the answer in place of its usage object, as it is. The bill knows better. */
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly vendor?: Vendor;
  /** Bill a call that fails as well. */
  readonly billAnyway?: boolean;
}

const MAX_TOKENS = 10_000_000;
const INTEGER_RANGES = new Map<string, readonly [number, number]>([
  ["promptTokens", [0, MAX_TOKENS]],
  ["completionTokens", [0, 1_000_000]],
  ["cachedTokens", [0, MAX_TOKENS]],
  ["reasoningTokens", [0, 1_000_000]],
  ["cacheWriteTokens", [0, MAX_TOKENS]],
  ["cacheWrite1hTokens", [0, MAX_TOKENS]],
  ["audioInputTokens", [0, MAX_TOKENS]],
  ["audioOutputTokens", [0, 1_000_000]],
  ["imageInputTokens", [0, MAX_TOKENS]],
  ["toolPromptTokens", [0, MAX_TOKENS]],
  ["searches", [0, 1_000]],
  ["audioSeconds", [0, 360_000]],
  ["toolCalls", [0, 100]],
  ["polls", [0, 1_000]],
  ["finalizingPolls", [0, 1_000]],
  ["finishedLines", [0, 100_000]],
  ["latencyMs", [0, 600_000]],
  ["bodyDelayMs", [0, 600_000]],
  ["chunkDelayMs", [0, 60_000]],
  ["tokensPerChunk", [1, 10_000]],
  ["status", [400, 599]],
  ["retryAfter", [0, 86_400]],
  ["retryAfterMs", [0, 86_400_000]],
  ["cutAfterChunks", [0, 1_000_000]],
  ["cutAfterBytes", [0, 1_000_000_000]],
  ["splitAt", [1, 1_000_000]],
  ["commentEvery", [1, 1_000_000]],
  ["keepAlives", [0, 10_000]],
  ["padBytes", [1, 200_000_000]],
]);
const TEXT_FIELDS = new Set([
  "errorCode",
  "errorType",
  "errorMessage",
  "redirect",
  "answerModel",
  "finishReason",
  "serviceTier",
]);
const SWITCHES = new Set(["billAnyway", "crlf", "loseOutput", "multibyte"]);
const CHOICES = new Map<string, readonly unknown[]>([
  ["fault", FAULTS],
  ["error", ERROR_NAMES],
  ["vendor", VENDORS],
  ["batchEnd", ["completed", "failed", "expired"]],
  ["redirectStatus", [302, 307]],
]);

/** What is wrong with a field, or undefined. */
export function problemOf(name: string, value: unknown): string | undefined {
  const range = INTEGER_RANGES.get(name);
  if (range !== undefined) {
    const fits = Number.isInteger(value) && Number(value) >= range[0] && Number(value) <= range[1];
    return fits ? undefined : `must be an integer from ${range[0]} to ${range[1]}`;
  }
  if (TEXT_FIELDS.has(name)) return typeof value === "string" ? undefined : "must be a string";
  if (SWITCHES.has(name)) return typeof value === "boolean" ? undefined : "must be true or false";
  if (name === "usage") return isObject(value) ? undefined : "must be an object";
  const choices = CHOICES.get(name);
  if (choices === undefined) return "is not a field";
  return choices.includes(value) ? undefined : `must be one of ${choices.join(", ")}`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
