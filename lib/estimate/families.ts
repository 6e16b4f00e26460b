/**
 * Which tokenizer a model has. Names decide, by exact rules; a name without a rule gets the byte bound and nothing better.
 * A family is `exact` (100 %) only where the vendor has published the tokenizer of these very models; the others are
 * counted with the nearest public encoding times a margin, which the settled calls of the model correct.
 */

export const ENCODINGS = [
  "gpt2",
  "r50k_base",
  "p50k_base",
  "p50k_edit",
  "cl100k_base",
  "o200k_base",
  "qwen3",
  "deepseek_v3",
] as const;

export type Encoding = (typeof ENCODINGS)[number];

/** Who serialises the request into a prompt: decides framing, hidden prompts and the rules for media. */
export type Vendor = "openai" | "anthropic" | "gemini" | "qwen" | "deepseek" | "other";

export interface TokenizerFamily {
  readonly id: string;
  readonly vendor: Vendor;
  /** Encoding to count with; null where only bytes bound it. */
  readonly encoding: Encoding | null;
  /** Tokens of the model for 100 tokens of the encoding, at the most; 100 where the encoding is the model's own. */
  readonly marginPercent: number;
  /** What the tokenizer does to a text first. A normalised text can have more bytes than the text. */
  readonly normalisation: "none" | "nfc" | "nfkc";
}

function family(
  id: string,
  vendor: Vendor,
  encoding: Encoding,
  marginPercent = 100,
  normalisation: TokenizerFamily["normalisation"] = "none",
): TokenizerFamily {
  return { id, vendor, encoding, marginPercent, normalisation };
}

/** Nothing is known: SentencePiece models normalise by NFKC unless told otherwise, so that is assumed. */
const UNKNOWN: TokenizerFamily = {
  id: "bytes",
  vendor: "other",
  encoding: null,
  marginPercent: 100,
  normalisation: "nfkc",
};

/**
 * Sources. OpenAI: tiktoken `model.py`. Qwen: tokenizer.json of the open weights 2, 2.5 and 3 is one vocabulary; 3.5 and
 * later have another, and hosted aliases move between them. DeepSeek: tokenizer.json of V3, V3.1, V3.2 and R1.
 * Margins: the 99th percentile over sentences (PAWS-X zh), English prose, code and JSON of published tokenizers, rounded
 * up. Claude 2 over cl100k: zh 1.04, en 1.33, code 1.28, so 1.5 with reserve for later models; "a newer tokenizer ...
 * approximately 30 percent more" (Anthropic, Token counting) for those after 4.6, so 2. Gemini over o200k: zh 1.16,
 * en 1.36, code 1.25, so 1.4. GLM, Kimi and later Qwen have vocabularies of the size of Qwen 3's (o200k times zh 1.28,
 * en 1.18); Doubao and ERNIE publish nothing to measure, so more.
 */
const RULES: readonly (readonly [RegExp, TokenizerFamily])[] = [
  [/^gpt-?2$/u, family("gpt2", "openai", "gpt2")],
  [/^(?:text|code)-davinci-edit-\d+$/u, family("p50k_edit", "openai", "p50k_edit")],
  [
    /^(?:text-davinci-00[23]|code-(?:davinci|cushman)-\d+|(?:davinci|cushman)-codex)$/u,
    family("p50k", "openai", "p50k_base"),
  ],
  [/^(?:(?:text|code)-[a-z-]+-001|ada|babbage|curie|davinci)$/u, family("r50k", "openai", "r50k_base")],
  [
    /^(?:gpt-3\.5|gpt-35|gpt-4|gpt-4-.+|gpt-4-32k|text-embedding-(?:ada-002|3-(?:small|large))|(?:babbage|davinci)-002)(?:-.+)?$/u,
    family("cl100k", "openai", "cl100k_base"),
  ],
  [
    /^(?:(?:chat)?gpt-4o|gpt-4\.[15]|gpt-5(?:\.\d+)?|gpt-oss|gpt-realtime|gpt-audio|o[134]|codex-mini|computer-use-preview|omni-moderation)(?:[-:].+)?$/u,
    family("o200k", "openai", "o200k_base"),
  ],
  [
    /^claude-(?:instant.*|v?[12](?:[.:-].*)?|3(?:[.-].*)?|(?:opus|sonnet|haiku)-4(?:[.-][0-6])?(?:[-@](?:\d{8}|latest|v\d).*|:.*)?)$/u,
    family("claude", "anthropic", "cl100k_base", 150, "nfkc"),
  ],
  [/^claude-/u, family("claude-new", "anthropic", "cl100k_base", 200, "nfkc")],
  [/^(?:gemini|gemma)-/u, family("gemini", "gemini", "o200k_base", 140, "nfkc")],
  // Distilled models have the tokenizer of the model they were made from; Ollama's small R1 tags are such.
  [/-distill-|^deepseek-r1:(?!671b)/u, UNKNOWN],
  // A size in the name is what tells open weights from a hosted alias.
  [/^qwen-?(?:2(?:\.5)?|3)[-:].*?\d+(?:\.\d+)?b(?:-.+)?$/u, family("qwen", "qwen", "qwen3", 100, "nfc")],
  [/^(?:qwen|qwq|qvq)/u, family("qwen-hosted", "qwen", "qwen3", 140, "nfc")],
  [/^deepseek-(?:v3(?:\.[12])?|r1)(?:[-:].+)?$/u, family("deepseek", "deepseek", "deepseek_v3")],
  [/^deepseek-/u, family("deepseek-hosted", "deepseek", "deepseek_v3", 130)],
  [/^(?:glm|chatglm|codegeex)-?/u, family("glm", "other", "o200k_base", 140, "nfkc")],
  [/^(?:kimi|moonshot)-/u, family("kimi", "other", "o200k_base", 140, "nfkc")],
  [/^(?:doubao|seed|bytedance-seed)-/u, family("doubao", "other", "o200k_base", 160, "nfkc")],
  [/^(?:ernie|eb)-/u, family("ernie", "other", "o200k_base", 160, "nfkc")],
];

/** Providers whose deployments may have names of their own: what is behind them is still the vendor's. */
const BY_PROVIDER: Readonly<Record<string, TokenizerFamily>> = {
  anthropic: family("claude-new", "anthropic", "cl100k_base", 200, "nfkc"),
  gemini: family("gemini", "gemini", "o200k_base", 140, "nfkc"),
};

/**
 * A name as its vendor writes it: without fine-tune frame ("ft:gpt-4o-mini:org::id"), path ("openai/gpt-4o",
 * "accounts/x/models/y") and cloud prefix ("us.anthropic.claude-...-v1:0"), in lower case.
 */
function bareName(model: string): string {
  const name = model.trim().toLowerCase();
  const tuned = /^ft:([^:]+)/u.exec(name)?.[1] ?? name;
  const last = tuned.slice(tuned.lastIndexOf("/") + 1);
  return last.replace(/^(?:[a-z-]+\.)?(?:anthropic|deepseek|qwen|openai)\./u, "");
}

const known = new Map<string, TokenizerFamily>();
const MAX_KNOWN = 1000;

/**
 * The family of a model by its name at the provider. `providerKind` helps where the name is an account's own word. A name
 * without a rule is of the family `bytes`.
 */
export function familyOf(model: string, providerKind: string | null): TokenizerFamily {
  const key = `${providerKind ?? ""} ${model}`;
  const seen = known.get(key);
  if (seen) return seen;
  const name = bareName(model);
  const found =
    RULES.find(([pattern]) => pattern.test(name))?.[1] ??
    (providerKind === null ? undefined : BY_PROVIDER[providerKind]) ??
    UNKNOWN;
  // Names come from the catalogue, so there are few; a bound is a bound.
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, found);
  return found;
}
