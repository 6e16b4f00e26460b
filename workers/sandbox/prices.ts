/**
 * What the sandbox sells and for how much: its own price table and its own arithmetic, on purpose shared with nobody,
 * so that its bill is an independent book. Prices are decimal USD per 1,000,000 tokens; amounts are integer nanos
 * (1e-9 USD), rounded half to even once per call.
 */

export interface SandboxModel {
  readonly id: string;
  /** Its place in `MODELS`. */
  readonly index: number;
  readonly endpoint: "chat" | "embeddings";
  readonly inputPrice: string;
  readonly cachedInputPrice: string;
  readonly outputPrice: string;
}

export const MODELS: readonly SandboxModel[] = [
  {
    id: "sandbox-large",
    index: 0,
    endpoint: "chat",
    inputPrice: "2.50",
    cachedInputPrice: "1.25",
    outputPrice: "10.00",
  },
  {
    id: "sandbox-medium",
    index: 1,
    endpoint: "chat",
    inputPrice: "0.80",
    cachedInputPrice: "0.40",
    outputPrice: "3.20",
  },
  {
    id: "sandbox-small",
    index: 2,
    endpoint: "chat",
    inputPrice: "0.15",
    cachedInputPrice: "0.075",
    outputPrice: "0.60",
  },
  {
    id: "sandbox-embed",
    index: 3,
    endpoint: "embeddings",
    inputPrice: "0.02",
    cachedInputPrice: "0.02",
    outputPrice: "0",
  },
];

const MODEL_BY_ID = new Map(MODELS.map((model) => [model.id, model]));

export function findModel(id: string): SandboxModel | undefined {
  return MODEL_BY_ID.get(id);
}

/** Token counts of one call. `cachedTokens` is the part of `promptTokens` that was read from the provider's cache. */
export interface TokenCounts {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

interface Rates {
  readonly input: bigint;
  readonly cachedInput: bigint;
  readonly output: bigint;
}

const TOKENS_PER_PRICE = 1_000_000n;
/** By model index. */
const RATES: readonly Rates[] = MODELS.map((model) => ({
  input: nanosOf(model.inputPrice),
  cachedInput: nanosOf(model.cachedInputPrice),
  output: nanosOf(model.outputPrice),
}));

/** The price of one call in nanos. */
export function costNanos(model: SandboxModel, counts: TokenCounts): bigint {
  const rates = RATES[model.index];
  if (rates === undefined) throw new Error(`The sandbox does not sell ${model.id}`);
  const exact =
    BigInt(counts.promptTokens - counts.cachedTokens) * rates.input +
    BigInt(counts.cachedTokens) * rates.cachedInput +
    BigInt(counts.completionTokens) * rates.output;
  const quotient = exact / TOKENS_PER_PRICE;
  const twice = (exact % TOKENS_PER_PRICE) * 2n;
  const roundUp = twice > TOKENS_PER_PRICE || (twice === TOKENS_PER_PRICE && quotient % 2n === 1n);
  return roundUp ? quotient + 1n : quotient;
}

/** Nanos of a constant of the table above, which has at most nine digits after the point. */
function nanosOf(price: string): bigint {
  const [whole = "0", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(9, "0"));
}
