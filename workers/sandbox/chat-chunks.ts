/**
 * The chunks of a streamed chat answer: a role chunk per choice, content chunks in turn, a finish chunk per choice, and
 * the usage where the vendor puts it (OpenAI: a chunk of its own when asked for; all earlier ones then carry
 * `usage: null`).
 */
import { shareOut } from "./body-fields";
import { type ChatPlan, toolCallId } from "./chat-plan";
import { chatUsage, usageHabit } from "./chat-usage";
import type { Call } from "./exchange";
import type { Chunk } from "./stream";
import { toolArguments } from "./tokens";

const NO_CHUNK_DATA = `"id":"","object":"","created":0,"model":""`;
const SAFE = `{"filtered":false,"severity":"safe"}`;
/** Azure's first chunk, the verdict of its filter on the prompt. */
const PROMPT_FILTER_CHUNK =
  `data: {"choices":[],${NO_CHUNK_DATA},"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` +
  `{"hate":${SAFE},"self_harm":${SAFE},"sexual":${SAFE},"violence":${SAFE}}}]}\n\n`;

export function* chatChunks(plan: ChatPlan, call: Call): Generator<Chunk, undefined> {
  const { control, vendor } = call;
  if (vendor === "azure") yield { text: PROMPT_FILTER_CHUNK, tokens: 0 };
  const tail = plan.includeUsage ? `}],"usage":null}\n\n` : "}]}\n\n";
  const chunks = choiceChunks(plan, call, tail);
  yield* plan.continuousUsage || control.fault === "usage_twice" ? withRunningUsage(chunks, plan, call, tail) : chunks;
  if (plan.includeUsage && usageHabit(vendor).place === "own_chunk" && control.fault !== "no_usage") {
    yield usageChunk(plan, call);
  }
  return undefined;
}

function* choiceChunks(plan: ChatPlan, call: Call, tail: string): Generator<Chunk, undefined> {
  const shell = shellOf(plan, plan.id);
  for (let index = 0; index < plan.choices.length; index += 1) {
    const delta = `"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null`;
    yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: 0 };
  }
  yield* contentChunks(plan, call, shell, tail);
  yield* finishChunks(plan, call, shell, tail);
  return undefined;
}

/** Usage so far on every chunk (vLLM), or once more in the middle (a vendor that repeats itself). */
function* withRunningUsage(
  chunks: Iterable<Chunk>,
  plan: ChatPlan,
  call: Call,
  tail: string,
): Generator<Chunk, undefined> {
  let produced = 0;
  for (const { text, tokens } of chunks) {
    const isFirst = produced === 0 && tokens > 0;
    produced += tokens;
    if (plan.continuousUsage) {
      const usage = chatUsage(plan, call.control, call.vendor, produced) ?? "null";
      yield { text: `${text.slice(0, -tail.length)}}],"usage":${usage}}\n\n`, tokens };
      continue;
    }
    yield { text, tokens };
    if (isFirst && plan.includeUsage) yield usageChunk(plan, call, produced);
  }
  return undefined;
}

function* finishChunks(plan: ChatPlan, call: Call, shell: string, plainTail: string): Generator<Chunk, undefined> {
  const { control, vendor } = call;
  const { place } = usageHabit(vendor);
  const usage = chatUsage(plan, control, vendor);
  for (let index = 0; index < plan.choices.length; index += 1) {
    const isLast = index === plan.choices.length - 1;
    let tail = plainTail;
    if (isLast && usage !== undefined && place === "finish_chunk") tail = `}],"usage":${usage}}\n\n`;
    if (isLast && usage !== undefined && place === "finish_choice") tail = `,"usage":${usage}${plainTail}`;
    const delta = `"delta":{},"logprobs":null,"finish_reason":"${plan.finishReason}"`;
    yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: 0 };
  }
  return undefined;
}

function usageChunk(plan: ChatPlan, { control, vendor }: Call, produced = plan.completionTokens): Chunk {
  const id = control.fault === "empty_id_usage" ? "" : plan.id;
  const usage = chatUsage(plan, control, vendor, produced) ?? "null";
  return { text: `${shellOf(plan, id)}],"usage":${usage}}\n\n`, tokens: 0 };
}

/** What the model says: thoughts where the vendor shows them, then text or tool calls, in turn over the choices. */
function* contentChunks(plan: ChatPlan, call: Call, shell: string, plainTail: string): Generator<Chunk, undefined> {
  const step = call.control.tokensPerChunk ?? 1;
  const tail = `,"logprobs":null,"finish_reason":null${plainTail}`;
  if (usageHabit(call.vendor).showsReasoning) {
    for (let from = 0; from < plan.reasoningTokens; from += step) {
      const to = Math.min(from + step, plan.reasoningTokens);
      const delta = `"delta":{"reasoning_content":"${plan.text(from, to)}"}`;
      yield { text: `${shell}{"index":0,${delta}${tail}`, tokens: to - from };
    }
  }
  if (plan.toolCalls.length > 0) {
    for (let index = 0; index < plan.choices.length; index += 1) {
      for (const { calls, tokens } of toolDeltas(plan, index, step)) {
        yield { text: `${shell}{"index":${index},"delta":{"tool_calls":[${calls}]}${tail}`, tokens };
      }
    }
    return undefined;
  }
  const longest = Math.max(...plan.choices);
  for (let from = 0; from < longest; from += step) {
    for (let index = 0; index < plan.choices.length; index += 1) {
      const to = Math.min(from + step, plan.choices[index] ?? 0);
      if (to <= from) continue;
      const delta = `"delta":{"content":"${plan.text(from, to)}"}`;
      yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: to - from };
    }
  }
  return undefined;
}

interface ToolDelta {
  /** JSON of one item of `tool_calls`. */
  readonly calls: string;
  readonly tokens: number;
}

function* toolDeltas(plan: ChatPlan, choice: number, step: number): Generator<ToolDelta, undefined> {
  const shares = shareOut(plan.choices[choice] ?? 0, plan.toolCalls.length);
  for (const [index, name] of plan.toolCalls.entries()) {
    const share = shares[index] ?? 0;
    const whole = share === 0 ? toolArguments(plan.text, 0, 0, 0) : "";
    const id = toolCallId(plan, choice, index);
    yield { calls: JSON.stringify({ index, id, type: "function", function: { name, arguments: whole } }), tokens: 0 };
    for (let from = 0; from < share; from += step) {
      const to = Math.min(from + step, share);
      const piece = toolArguments(plan.text, from, to, share);
      yield { calls: JSON.stringify({ index, function: { arguments: piece } }), tokens: to - from };
    }
  }
  return undefined;
}

/** The part that all chunks of an answer share, up to the opening of `choices`. */
function shellOf(plan: ChatPlan, id: string): string {
  return (
    `data: {"id":"${id}","object":"chat.completion.chunk","created":${plan.createdSeconds},` +
    `"model":"${plan.answerModel}","service_tier":"${plan.serviceTier}","system_fingerprint":"fp_sandbox","choices":[`
  );
}
