/**
 * The sandbox control: what a caller may ask the sandbox to do with one call. It arrives as JSON in the header
 * `x-sandbox`, as an object in the body field `sandbox`, or as a JSON string in `metadata.sandbox`; the first found
 * counts, whole. A control with an unknown field or a value out of range is refused, so a typo in a test is loud.
 */

export const FAULTS = [
  "cut_stream",
  "no_usage",
  "zero_usage",
  "half_json",
  "close_socket",
  "wrong_gzip",
  "error_in_stream",
  "empty_id_usage",
  "hang",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Counts are tokens, `retryAfter` is seconds, the rest has its unit in its name. All fields are optional. */
export interface SandboxControl {
  readonly promptTokens?: number;
  /** Of all choices together, reasoning included. */
  readonly completionTokens?: number;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
  /** Wait before the first byte of the answer. */
  readonly latencyMs?: number;
  /** Wait after each content chunk of a stream. */
  readonly chunkDelayMs?: number;
  readonly tokensPerChunk?: number;
  /** Answer with this error status. */
  readonly status?: number;
  readonly errorCode?: string;
  readonly errorType?: string;
  readonly errorMessage?: string;
  readonly retryAfter?: number;
  readonly fault?: Fault;
  /** Content chunks that precede the fault of a stream. */
  readonly cutAfterChunks?: number;
  /** Bill a call that fails as well. */
  readonly billAnyway?: boolean;
}

export class ControlError extends Error {}

const NO_CONTROL: SandboxControl = {};
const INTEGER_RANGES = new Map<string, readonly [number, number]>([
  ["promptTokens", [0, 10_000_000]],
  ["completionTokens", [0, 1_000_000]],
  ["cachedTokens", [0, 10_000_000]],
  ["reasoningTokens", [0, 1_000_000]],
  ["latencyMs", [0, 600_000]],
  ["chunkDelayMs", [0, 60_000]],
  ["tokensPerChunk", [1, 10_000]],
  ["status", [400, 599]],
  ["retryAfter", [0, 86_400]],
  ["cutAfterChunks", [0, 1_000_000]],
]);
const TEXT_FIELDS = new Set(["errorCode", "errorType", "errorMessage"]);
const FAULT_NAMES = new Set<unknown>(FAULTS);

/** Parsed headers by their text: a load test sends the same one a million times. */
const parsedHeaders = new Map<string, SandboxControl>();
const MAX_PARSED_HEADERS = 1_000;

/** The control of a call. Throws `ControlError` with a message for the caller. */
export function readControl(header: string | undefined, body: Readonly<Record<string, unknown>>): SandboxControl {
  if (header !== undefined) return controlOfHeader(header);
  if (body.sandbox !== undefined) return parseControl(body.sandbox);
  const metadata = body.metadata;
  if (typeof metadata !== "object" || metadata === null || !("sandbox" in metadata)) return NO_CONTROL;
  if (typeof metadata.sandbox !== "string") throw new ControlError("metadata.sandbox must be a string of JSON");
  return parseControlText(metadata.sandbox);
}

function controlOfHeader(header: string): SandboxControl {
  const known = parsedHeaders.get(header);
  if (known !== undefined) return known;
  const control = parseControlText(header);
  if (parsedHeaders.size >= MAX_PARSED_HEADERS) parsedHeaders.clear();
  parsedHeaders.set(header, control);
  return control;
}

function parseControlText(text: string): SandboxControl {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ControlError("the sandbox control is not JSON");
  }
  return parseControl(value);
}

function parseControl(value: unknown): SandboxControl {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ControlError("the sandbox control must be an object");
  }
  for (const [name, field] of Object.entries(value)) {
    const problem = problemOf(name, field);
    if (problem !== undefined) throw new ControlError(`sandbox control: ${name} ${problem}`);
  }
  return value;
}

function problemOf(name: string, value: unknown): string | undefined {
  const range = INTEGER_RANGES.get(name);
  if (range !== undefined) {
    const fits = Number.isInteger(value) && Number(value) >= range[0] && Number(value) <= range[1];
    return fits ? undefined : `must be an integer from ${range[0]} to ${range[1]}`;
  }
  if (TEXT_FIELDS.has(name)) return typeof value === "string" ? undefined : "must be a string";
  if (name === "fault") return FAULT_NAMES.has(value) ? undefined : `must be one of ${FAULTS.join(", ")}`;
  if (name === "billAnyway") return typeof value === "boolean" ? undefined : "must be true or false";
  return "is not a field";
}
