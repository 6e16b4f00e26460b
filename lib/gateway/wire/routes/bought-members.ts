/**
 * Members by which a server would do something else than what was read and priced: a member that is read in another spelling, or
 * another word for one. Everything else that the gateway does not know passes; these are refused, whoever serves.
 *
 * Sources: Go's encoding/json (names match without regard to case, and the last one counts: Ollama and gateways written in Go),
 * llama.cpp server README (n_predict, n_cmpl), Hugging Face TGI (max_new_tokens) and Transformers (num_return_sequences, num_beams),
 * vLLM (use_beam_search), OpenRouter (models), LiteLLM (fallbacks), Google's OpenAI compatibility (extra_body within the body).
 */

/** What the parsers read, as it is spelt. */
const READ = new Set([
  ...["model", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "echo", "prediction"],
  ...["stream", "stream_options", "modalities", "service_tier", "speed", "inference_geo", "thinking", "background"],
  ...["messages", "input", "prompt", "system", "instructions", "contents", "documents", "user", "metadata", "store"],
  ...["tools", "max_tool_calls", "web_search_options", "search_parameters", "enable_search", "plugins"],
  ...["previous_response_id", "conversation", "container", "mcp_servers", "context_management", "cache_control"],
  ...["size", "quality", "partial_images", "image", "images", "mask", "stream_format", "query", "extra_body"],
  ...["generationConfig", "generation_config", "cachedContent", "cached_content", "generateContentRequest"],
]);
const FOLDED = new Set([...READ].map(folded));

/** Another model than the one asked for, another cap than the one held for, more answers than were counted. */
const OTHER_WORDS = new Set([
  ...["models", "fallbacks", "n_predict", "num_predict", "max_new_tokens", "max_gen_len"],
  ...["n_cmpl", "num_return_sequences", "num_beams", "use_beam_search"],
]);

const PLAIN = /^[a-z0-9_]+$/u;
const MAX_DEPTH = 12;

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** What some servers merge into the body once more may say nothing that was read outside of it. */
function nestedMember(value: unknown, path: string, depth: number): string | undefined {
  if (!isObject(value) || depth > MAX_DEPTH) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = FOLDED.has(folded(name)) || OTHER_WORDS.has(name);
    const nested = found ? `${path}.${name}` : nestedMember(member, `${path}.${name}`, depth + 1);
    if (nested !== undefined) return nested;
  }
  return undefined;
}

/** The first member of a body that is not the caller's to say; undefined where there is none. Null says nothing. */
export function smuggledMember(body: Readonly<Record<string, unknown>>, names: Iterable<string>): string | undefined {
  for (const name of names) {
    if (READ.has(name)) continue;
    const isOther = PLAIN.test(name) ? OTHER_WORDS.has(name) : FOLDED.has(folded(name));
    if (isOther && body[name] !== null) return name;
  }
  return nestedMember(body.extra_body, "extra_body", 0);
}
