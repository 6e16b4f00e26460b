/** Ollama's own POST /api/chat: newline-delimited JSON, streamed unless the request says otherwise, durations in ns. */
import { answerJson } from "../answer";
import { type ChatPlan, planChat } from "../chat-plan";
import type { SandboxControl } from "../control-fields";
import type { Exchange } from "../exchange";
import { type Chunk, streamAnswer } from "../stream";
import { toolArguments } from "../tokens";
import { isRecord } from "../body-fields";

const NDJSON = "application/x-ndjson";
const DURATION_NS = 1_000_000;

export function handleOllamaChat(exchange: Exchange): void {
  const { control, body } = exchange;
  const options = isRecord(body.options) ? body.options : {};
  const stream = body.stream !== false;
  const asked = { ...exchange, body: { ...body, max_tokens: cappedAt(options.num_predict) } };
  const plan: ChatPlan = { ...planChat(asked), stream };
  const [tokens = 0] = plan.choices;
  if (!stream) {
    const message = { ...messageOf(plan, 0, tokens, tokens), ...thinkingOf(plan, 0, plan.reasoningTokens) };
    answerJson(exchange, plan, JSON.stringify({ ...shell(plan), message, ...ending(plan, control) }));
    return;
  }
  streamAnswer(exchange, plan, {
    chunks: lines(plan, control, tokens),
    end: `${JSON.stringify({ ...shell(plan), message: { role: "assistant", content: "" }, ...ending(plan, control) })}\n`,
    errorEvent: (error) => `${error}\n`,
    hiddenTokens: 0,
    contentType: NDJSON,
  });
}

/** Zero and below mean no cap. */
function cappedAt(numPredict: unknown): number | undefined {
  return typeof numPredict === "number" && numPredict > 0 ? numPredict : undefined;
}

function* lines(plan: ChatPlan, control: SandboxControl, total: number): Generator<Chunk, undefined> {
  const step = control.tokensPerChunk ?? 1;
  const line = (message: object) => `${JSON.stringify({ ...shell(plan), message, done: false })}\n`;
  for (let from = 0; from < plan.reasoningTokens; from += step) {
    const to = Math.min(from + step, plan.reasoningTokens);
    yield { text: line({ role: "assistant", content: "", ...thinkingOf(plan, from, to) }), tokens: to - from };
  }
  if (plan.toolCalls.length > 0) {
    yield { text: line(messageOf(plan, 0, total, total)), tokens: total };
    return undefined;
  }
  for (let from = 0; from < total; from += step) {
    const to = Math.min(from + step, total);
    yield { text: line(messageOf(plan, from, to, total)), tokens: to - from };
  }
  return undefined;
}

function shell({ answerModel, createdSeconds }: ChatPlan): object {
  return { model: answerModel, created_at: new Date(createdSeconds * 1000).toISOString() };
}

function thinkingOf(plan: ChatPlan, from: number, to: number): object {
  return to > from ? { thinking: plan.text(from, to) } : {};
}

function messageOf(plan: ChatPlan, from: number, to: number, total: number): object {
  if (plan.toolCalls.length === 0) return { role: "assistant", content: plan.text(from, to) };
  const args: unknown = JSON.parse(toolArguments(plan.text, 0, total, total));
  return {
    role: "assistant",
    content: "",
    tool_calls: plan.toolCalls.map((name) => ({ function: { name, arguments: args } })),
  };
}

/** A prompt that was cached is not counted at all. */
function ending(plan: ChatPlan, control: SandboxControl): object {
  const reason = plan.finishReason === "length" ? "length" : "stop";
  const done = { done: true, done_reason: reason, total_duration: DURATION_NS, load_duration: DURATION_NS };
  if (control.usage !== undefined) return { ...done, ...control.usage };
  if (control.fault === "no_usage") return done;
  const isZero = control.fault === "zero_usage";
  return {
    ...done,
    ...(plan.cachedTokens > 0 ? {} : { prompt_eval_count: isZero ? 0 : plan.promptTokens }),
    prompt_eval_duration: DURATION_NS,
    eval_count: isZero ? 0 : plan.completionTokens,
    eval_duration: DURATION_NS,
  };
}
