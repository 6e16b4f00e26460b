/** Where servers put the usage of an answer or a chunk; the object is passed on raw, its reading is the normaliser's job. */
import { isBody } from "./fields";

export type RawUsage = Readonly<Record<string, unknown>>;

function last(list: unknown): unknown {
  return Array.isArray(list) ? list[list.length - 1] : undefined;
}

/**
 * `usage`; else `choices[last].usage` (older Moonshot models); else `usageMetadata` (Gemini); else `x_groq.usage` (Groq);
 * else that of the `response` (OpenAI responses) or `message` (Anthropic) an event carries.
 */
export function statedUsage(body: unknown): RawUsage | undefined {
  if (!isBody(body)) return undefined;
  const choice = last(body.choices);
  const spots = [
    body.usage,
    isBody(choice) ? choice.usage : undefined,
    body.usageMetadata,
    isBody(body.x_groq) ? body.x_groq.usage : undefined,
    isBody(body.response) ? body.response.usage : undefined,
    isBody(body.message) ? body.message.usage : undefined,
  ];
  return spots.find(isBody);
}

/** Cumulative usage: what is stated later replaces what was stated before; null says nothing. */
export function mergedUsage(before: RawUsage | undefined, after: RawUsage | undefined): RawUsage | undefined {
  if (!after) return before;
  const stated = Object.entries(after).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(stated) };
}
