/** Which row of a price map is meant by the name of a model. */

/** By provider kind, the prefixes that its models have in the public price map. */
const PREFIXES: Readonly<Record<string, readonly string[]>> = {
  openai: ["openai"],
  azure: ["azure", "azure_ai"],
  anthropic: ["anthropic"],
  gemini: ["gemini"],
  vertex: ["vertex_ai"],
  deepseek: ["deepseek"],
  dashscope: ["dashscope"],
  zhipu: ["zai"],
  moonshot: ["moonshot"],
  ark: ["volcengine"],
  xai: ["xai"],
  mistral: ["mistral"],
  perplexity: ["perplexity"],
  groq: ["groq"],
  openrouter: ["openrouter"],
  bedrock: ["bedrock"],
  cohere: ["cohere"],
  vllm: ["hosted_vllm"],
  ollama: ["ollama"],
};
const KNOWN_PREFIXES: ReadonlySet<string> = new Set(Object.values(PREFIXES).flat());
const DATE = /[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$/u;

export interface KeyLookup {
  /** Kind of the provider that serves the model. */
  readonly provider?: string;
  /** The operator's own names: deployment or endpoint id to model. */
  readonly aliases?: Readonly<Record<string, string>>;
}

/**
 * The key of the map that prices `model`: its exact name; with the provider's prefix; without a known prefix; the same for
 * the name without its date; then what the operator's map says. Never part of a name: "gpt-4o" is not "gpt-4o-mini".
 */
export function findPriceKey(model: string, has: (key: string) => boolean, lookup: KeyLookup = {}): string | undefined {
  const found = candidates(model, lookup.provider).find(has);
  if (found !== undefined) return found;
  const alias = lookup.aliases && Object.hasOwn(lookup.aliases, model) ? lookup.aliases[model] : undefined;
  return alias === undefined ? undefined : candidates(alias, lookup.provider).find(has);
}

function candidates(model: string, provider: string | undefined): string[] {
  const names = DATE.test(model) ? [model, model.replace(DATE, "")] : [model];
  return names.flatMap((name) => {
    const slash = name.indexOf("/");
    const stripped = slash > 0 && KNOWN_PREFIXES.has(name.slice(0, slash)) ? [name.slice(slash + 1)] : [];
    const prefixes = provider !== undefined && Object.hasOwn(PREFIXES, provider) ? (PREFIXES[provider] ?? []) : [];
    return [name, ...prefixes.map((prefix) => `${prefix}/${name}`), ...stripped];
  });
}
