/** POST /v1/completions, the older text interface: many prompts, `n` of `best_of` candidates each, echo, streams. */
import { answerJson } from "../answer";
import { type Body, integerField, isRecord, modelField, shareOut } from "../body-fields";
import type { SandboxControl } from "../control-fields";
import { missingField, RequestError } from "../errors";
import type { Call, Exchange, Metered } from "../exchange";
import { type Chunk, dataEvent, streamAnswer } from "../stream";
import { answerText, countInputTokens, multibyteText, type TextOfTokens } from "../tokens";

interface CompletionChoice {
  /** Text of the prompt, where it is echoed. */
  readonly echo: string;
  readonly tokens: number;
}

interface CompletionPlan extends Metered {
  readonly id: string;
  readonly createdSeconds: number;
  readonly answerModel: string;
  readonly choices: readonly CompletionChoice[];
  readonly finishReason: string;
  readonly includeUsage: boolean;
  readonly text: TextOfTokens;
}

const DEFAULT_MAX_TOKENS = 16;
const MAX_CANDIDATES = 20;

export function handleCompletions(exchange: Exchange): void {
  const plan = planCompletion(exchange);
  const { control } = exchange;
  if (!plan.stream) {
    answerJson(exchange, plan, completionJson(plan, control));
    return;
  }
  const chunks = completionChunks(plan, control);
  streamAnswer(exchange, plan, { chunks, end: "data: [DONE]\n\n", errorEvent: dataEvent, hiddenTokens: 0 });
}

/** A whole answer, for a batch. */
export function completionsAnswer(call: Call): { metered: Metered; json: string } {
  const plan = planCompletion(call);
  return { metered: { ...plan, stream: false }, json: completionJson(plan, call.control) };
}

function planCompletion({ body, control, callId, receivedAtMs }: Call): CompletionPlan {
  const model = modelField(body, "completions");
  const prompts = readPrompts(body.prompt);
  const n = integerField(body, "n", MAX_CANDIDATES) ?? 1;
  const bestOf = integerField(body, "best_of", MAX_CANDIDATES) ?? n;
  const stream = body.stream === true;
  if (bestOf < n)
    throw new RequestError(400, null, "You requested that the server return more choices than it will generate.");
  if (stream && bestOf > n) throw new RequestError(400, null, "You cannot stream results with best_of > n.");
  const cap = integerField(body, "max_tokens", Infinity, 0) ?? DEFAULT_MAX_TOKENS;
  const candidates = prompts.length * bestOf;
  const wanted = control.completionTokens ?? DEFAULT_MAX_TOKENS * candidates;
  const completionTokens = Math.min(wanted, cap * candidates);
  const made = shareOut(completionTokens, candidates);
  const promptTokens = control.promptTokens ?? prompts.reduce((sum, prompt) => sum + countInputTokens(prompt), 0);
  const choices = prompts.flatMap((prompt, index) => {
    const echo = body.echo === true && typeof prompt === "string" ? prompt : "";
    return made.slice(index * bestOf, index * bestOf + n).map((tokens) => ({ echo, tokens }));
  });
  return {
    model,
    stream,
    promptTokens,
    cachedTokens: Math.min(control.cachedTokens ?? 0, promptTokens),
    completionTokens,
    id: `cmpl-${callId}`,
    createdSeconds: Math.floor(receivedAtMs / 1000),
    answerModel: control.answerModel ?? model.id,
    choices,
    finishReason: control.finishReason ?? (wanted > completionTokens ? "length" : "stop"),
    includeUsage: stream && asksForUsage(body),
    text: control.multibyte === true ? multibyteText : answerText,
  };
}

type Prompt = string | readonly number[];

function readPrompts(prompt: unknown): readonly Prompt[] {
  if (prompt === undefined || prompt === null) throw missingField("prompt");
  const prompts: unknown[] = Array.isArray(prompt) && !isTokenIds(prompt) ? prompt : [prompt];
  if (prompts.length > 0 && prompts.every((each): each is Prompt => typeof each === "string" || isTokenIds(each))) {
    return prompts;
  }
  throw new RequestError(400, "invalid_value", "'prompt' must be a text, token ids, or an array of them.", "prompt");
}

function isTokenIds(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id));
}

function asksForUsage({ stream_options: options }: Body): boolean {
  return isRecord(options) && options.include_usage === true;
}

function shellOf({ id, createdSeconds, answerModel }: CompletionPlan): object {
  return { id, object: "text_completion", created: createdSeconds, model: answerModel };
}

function usageOf(plan: CompletionPlan, control: SandboxControl): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  const isZero = control.fault === "zero_usage";
  const prompt = isZero ? 0 : plan.promptTokens;
  const completion = isZero ? 0 : plan.completionTokens;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function completionJson(plan: CompletionPlan, control: SandboxControl): string {
  const choices = plan.choices.map(({ echo, tokens }, index) => {
    return { text: echo + plan.text(0, tokens), index, logprobs: null, finish_reason: plan.finishReason };
  });
  return JSON.stringify({ ...shellOf(plan), choices, usage: usageOf(plan, control) });
}

function* completionChunks(plan: CompletionPlan, control: SandboxControl): Generator<Chunk, undefined> {
  const step = control.tokensPerChunk ?? 1;
  const usage = plan.includeUsage ? { usage: null } : {};
  const chunk = (choice: object, tokens: number): Chunk => {
    return { text: dataEvent(JSON.stringify({ ...shellOf(plan), choices: [choice], ...usage })), tokens };
  };
  for (const [index, { echo, tokens }] of plan.choices.entries()) {
    if (echo !== "") yield chunk({ text: echo, index, logprobs: null, finish_reason: null }, 0);
    for (let from = 0; from < tokens; from += step) {
      const to = Math.min(from + step, tokens);
      yield chunk({ text: plan.text(from, to), index, logprobs: null, finish_reason: null }, to - from);
    }
    yield chunk({ text: "", index, logprobs: null, finish_reason: plan.finishReason }, 0);
  }
  const last = plan.includeUsage ? usageOf(plan, control) : undefined;
  if (last !== undefined) {
    yield { text: dataEvent(JSON.stringify({ ...shellOf(plan), choices: [], usage: last })), tokens: 0 };
  }
  return undefined;
}
