/** Lines of a batch's output and error files (OpenAI API reference: batch output): which calls were served, and what they used. */
import type { TokenUsage } from "./usage-event";
import { readUsage } from "./usage-reader";

export interface FinishedLine {
  /** Undefined where the answer does not say. */
  readonly usage: TokenUsage | undefined;
  /** A reading with something impossible in it, which only the bill can confirm. */
  readonly isDoubtful: boolean;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSaid(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || (Array.isArray(value) && value.length > 0);
}

/** Whether an answer has text in it, or a call of a tool: then it took tokens to make. */
function hasMade(body: unknown): boolean {
  if (!isObject(body)) return false;
  const choices = Array.isArray(body.choices) ? (body.choices as unknown[]).filter(isObject) : [];
  const messages = choices.map((choice) => (isObject(choice.message) ? choice.message : choice));
  return (
    isSaid(body.output) || messages.some(({ content, tool_calls: calls, text }) => [content, calls, text].some(isSaid))
  );
}

/** A line of a call that was served and is billed; undefined for one that failed, or that is no line. `vendor`: the kind of its provider. */
export function finishedLine(text: string, vendor: string): FinishedLine | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  const response = isObject(line) ? line.response : undefined;
  if (!isObject(response) || typeof response.status_code !== "number" || response.status_code >= 300) return undefined;
  const reading = readUsage(response.body, { vendor });
  // A count of none where something came is none.
  if (reading?.usage.outputTokens === 0 && hasMade(response.body)) return { usage: undefined, isDoubtful: true };
  return { usage: reading?.usage, isDoubtful: reading === undefined || reading.flags.length > 0 };
}

/** Of a line that does not say: what was held for it on the average. */
export function averageUsage(
  held: { readonly inputTokens: number; readonly outputTokens: number },
  lines: number,
): TokenUsage {
  return {
    inputTokens: Math.ceil(held.inputTokens / lines),
    outputTokens: Math.ceil(held.outputTokens / lines),
    ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  };
}

/** What the batch object says of all lines together; undefined where it says nothing. */
export function statedUsage(batch: Readonly<Record<string, unknown>>, vendor: string): TokenUsage | undefined {
  return readUsage({ usage: batch.usage }, { vendor })?.usage;
}
