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

export function chatChunks(plan: ChatPlan, call: Call): Iterator<Chunk, undefined> {
  const isPlain = call.vendor !== "azure" && !plan.continuousUsage && call.control.fault !== "usage_twice";
  return isPlain ? choiceChunks(plan, call) : wrappedChunks(plan, call);
}

/** The text is made here and not in a generator of its own: a stream of a load test spends most of its time in it. */
function* choiceChunks(plan: ChatPlan, call: Call): Generator<Chunk, undefined> {
  const shell = shellOf(plan, plan.id);
  const { choices, text } = plan;
  const plainTail = tailOf(plan);
  const tail = `,"logprobs":null,"finish_reason":null${plainTail}`;
  for (let index = 0; index < choices.length; index += 1) {
    const delta = `"delta":{"role":"assistant","content":"","refusal":null}`;
    yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: 0 };
  }
  const step = call.control.tokensPerChunk ?? 1;
  if (usageHabit(call.vendor).showsReasoning) yield* thoughtChunks(plan, step, shell, tail);
  if (plan.toolCalls.length > 0) yield* toolChunks(plan, step, shell, tail);
  const longest = plan.toolCalls.length > 0 ? 0 : Math.max(...choices);
  for (let from = 0; from < longest; from += step) {
    for (let index = 0; index < choices.length; index += 1) {
      const to = Math.min(from + step, choices[index] ?? 0);
      if (to <= from) continue;
      const delta = `"delta":{"content":"${text(from, to)}"}`;
      yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: to - from };
    }
  }
  yield* finishChunks(plan, call, shell, plainTail);
  return undefined;
}

/** All earlier chunks say that they have no usage where a later one does. */
function tailOf(plan: ChatPlan): string {
  return plan.includeUsage ? `}],"usage":null}\n\n` : "}]}\n\n";
}

function* wrappedChunks(plan: ChatPlan, call: Call): Generator<Chunk, undefined> {
  if (call.vendor === "azure") yield { text: PROMPT_FILTER_CHUNK, tokens: 0 };
  yield* withRunningUsage(choiceChunks(plan, call), plan, call);
  return undefined;
}

/** Usage so far on every chunk (vLLM), or once more in the middle (a vendor that repeats itself). */
function* withRunningUsage(chunks: Iterable<Chunk>, plan: ChatPlan, call: Call): Generator<Chunk, undefined> {
  const tail = tailOf(plan);
  const isTold = plan.includeUsage && call.control.fault === "usage_twice";
  let produced = 0;
  for (const { text, tokens } of chunks) {
    const isFirst = produced === 0 && tokens > 0;
    produced += tokens;
    const usage = chatUsage(plan, call.control, call.vendor, produced) ?? "null";
    const isRunning = plan.continuousUsage && text.endsWith(tail);
    yield { text: isRunning ? `${text.slice(0, -tail.length)}}],"usage":${usage}}\n\n` : text, tokens };
    if (isFirst && isTold) yield usageChunk(plan, call, usage);
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
  if (plan.includeUsage && place === "own_chunk" && usage !== undefined) yield usageChunk(plan, call, usage);
  return undefined;
}

function usageChunk(plan: ChatPlan, { control }: Call, usage: string): Chunk {
  const id = control.fault === "empty_id_usage" ? "" : plan.id;
  return { text: `${shellOf(plan, id)}],"usage":${usage}}\n\n`, tokens: 0 };
}

function* thoughtChunks(plan: ChatPlan, step: number, shell: string, tail: string): Generator<Chunk, undefined> {
  for (let from = 0; from < plan.reasoningTokens; from += step) {
    const to = Math.min(from + step, plan.reasoningTokens);
    const delta = `"delta":{"reasoning_content":"${plan.text(from, to)}"}`;
    yield { text: `${shell}{"index":0,${delta}${tail}`, tokens: to - from };
  }
  return undefined;
}

function* toolChunks(plan: ChatPlan, step: number, shell: string, tail: string): Generator<Chunk, undefined> {
  for (let index = 0; index < plan.choices.length; index += 1) {
    for (const { calls, tokens } of toolDeltas(plan, index, step)) {
      yield { text: `${shell}{"index":${index},"delta":{"tool_calls":[${calls}]}${tail}`, tokens };
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
