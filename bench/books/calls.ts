/** What the callers of the books bench do, drawn from a seed: whole answers, streams, every fault, and hanging up. */

export interface PlannedCall {
  /** As the report counts it. */
  readonly kind: string;
  readonly model: "sandbox-large" | "sandbox-medium" | "sandbox-small";
  readonly isStream: boolean;
  readonly wantsUsage: boolean;
  readonly words: number;
  /** null: the caller states no cap, so the policy's is written in. */
  readonly maxTokens: number | null;
  /** The sandbox control (workers/sandbox/README.md). */
  readonly sandbox: Readonly<Record<string, unknown>>;
  /** Hang up after so many milliseconds, whatever has come by then; null: read to the end. */
  readonly hangUpAfterMs: number | null;
}

type Shape = Partial<Omit<PlannedCall, "kind" | "model" | "words" | "maxTokens">>;
type Draw = (random: () => number) => Shape;

function between(random: () => number, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

function slowStream(random: () => number): Shape {
  const sandbox = { completionTokens: between(random, 10, 60), chunkDelayMs: between(random, 5, 60) };
  return { isStream: true, wantsUsage: random() < 0.3, sandbox };
}

function withFault(fault: string): Draw {
  return (random) => {
    const isStream = random() < 0.6;
    const chunks = isStream ? { cutAfterChunks: between(random, 0, 5), chunkDelayMs: between(random, 0, 20) } : {};
    const billAnyway = random() < 0.25 ? { billAnyway: true } : {};
    return { isStream, sandbox: { fault, completionTokens: between(random, 6, 30), ...chunks, ...billAnyway } };
  };
}

function withStatus(status: number): Draw {
  return (random) => ({
    isStream: random() < 0.4,
    sandbox: { status, ...(random() < 0.2 ? { billAnyway: true } : {}) },
  });
}

const KINDS: readonly (readonly [kind: string, weight: number, draw: Draw])[] = [
  ["success", 24, (random) => ({ sandbox: { completionTokens: between(random, 1, 120) } })],
  ["slow success", 10, (random) => ({ sandbox: { latencyMs: between(random, 20, 900) } })],
  ["stream", 12, (random) => ({ isStream: true, wantsUsage: random() < 0.5 })],
  ["slow stream", 14, slowStream],
  ["long stream", 3, () => ({ isStream: true, sandbox: { completionTokens: 120, chunkDelayMs: 60 } })],
  ["hang up mid-stream", 9, (random) => ({ ...slowStream(random), hangUpAfterMs: between(random, 30, 700) })],
  [
    "hang up before headers",
    6,
    (random) => ({
      isStream: random() < 0.6,
      hangUpAfterMs: between(random, 1, 60),
      sandbox: { latencyMs: between(random, 40, 400), completionTokens: between(random, 1, 20) },
    }),
  ],
  ["status 429", 2, withStatus(429)],
  ["status 500", 2, withStatus(500)],
  ["cut stream", 3, withFault("cut_stream")],
  ["no usage", 3, withFault("no_usage")],
  ["zero usage", 3, withFault("zero_usage")],
  ["half JSON", 2, withFault("half_json")],
  ["wrong gzip", 2, withFault("wrong_gzip")],
  ["closed socket", 2, withFault("close_socket")],
  ["error in stream", 3, withFault("error_in_stream")],
];

const TOTAL_WEIGHT = KINDS.reduce((sum, [, weight]) => sum + weight, 0);
const MODELS = ["sandbox-large", "sandbox-medium", "sandbox-small"] as const;

/** The next call of this seed. */
export function drawCall(random: () => number): PlannedCall {
  let left = random() * TOTAL_WEIGHT;
  const [kind, , draw] = KINDS.find(([, weight]) => (left -= weight) < 0) ?? ["success", 1, () => ({})];
  const shape = draw(random);
  return {
    kind,
    model: MODELS[between(random, 0, MODELS.length - 1)] ?? "sandbox-small",
    isStream: false,
    wantsUsage: false,
    words: between(random, 1, 200),
    maxTokens: random() < 0.85 ? between(random, 120, 400) : null,
    hangUpAfterMs: null,
    sandbox: {},
    ...shape,
  };
}

export function bodyOf(call: PlannedCall): string {
  return JSON.stringify({
    model: call.model,
    messages: [{ role: "user", content: "spill ".repeat(call.words) }],
    ...(call.maxTokens === null ? {} : { max_tokens: call.maxTokens }),
    ...(call.isStream ? { stream: true } : {}),
    ...(call.wantsUsage ? { stream_options: { include_usage: true } } : {}),
    metadata: { sandbox: JSON.stringify(call.sandbox) },
  });
}
