/**
 * Whether a body may say anything of addresses at all. Most bodies are texts under names that everybody knows; only the others
 * are walked by the guard (lib/net/body-rules.ts).
 */
import type { JsonRequest } from "./routes/route-request";
import { NO_EXTRAS } from "./routes/route-request";

/** Members of plain chat and embedding bodies whose values are scalars, texts or content without media. */
const PLAIN_MEMBERS = new Set([
  "model",
  "messages",
  "input",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "n",
  "stop",
  "stream",
  "stream_options",
  "user",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "encoding_format",
  "dimensions",
]);

export function mayNameAddresses(request: JsonRequest): boolean {
  if (request.extras !== NO_EXTRAS || (request.kind !== "chat" && request.kind !== "embedding")) return true;
  for (const name of request.scan.members.keys()) if (!PLAIN_MEMBERS.has(name)) return true;
  return false;
}
