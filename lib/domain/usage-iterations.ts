/**
 * Anthropic samples more than once for some requests: `usage.iterations` lists every time, and the counts beside it leave some of
 * them out (a summary that was made to shorten the context). What is billed is their sum (Claude API documentation: compaction).
 */
type Members = Readonly<Record<string, unknown>>;

const COUNTS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
const WRITES = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of each count the larger of what is stated and what its parts come to; counts that nobody states stay out. */
function totals(names: readonly string[], stated: Members, parts: readonly Members[]): Members {
  const found = names.flatMap((name) => {
    const counts = parts.map((part) => part[name]).filter((one) => typeof one === "number" && one > 0);
    const sum = counts.reduce<number>((total, one) => total + Number(one), 0);
    const own = stated[name];
    return sum > (typeof own === "number" ? own : 0) ? [[name, sum] as const] : [];
  });
  return { ...stated, ...Object.fromEntries(found) };
}

function writesOf(usage: Members): Members {
  return isObject(usage.cache_creation) ? usage.cache_creation : {};
}

/** The usage as it is billed; itself where it lists no iterations. */
export function withIterations(usage: Members): Members {
  const parts = Array.isArray(usage.iterations) ? usage.iterations.filter(isObject) : [];
  if (parts.length === 0) return usage;
  const writes = totals(WRITES, writesOf(usage), parts.map(writesOf));
  return { ...totals(COUNTS, usage, parts), cache_creation: writes };
}
