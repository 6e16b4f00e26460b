/** Gemini's own generateContent, streamGenerateContent (server-sent events, or one JSON array) and countTokens. */
import { answerJson } from "../answer";
import type { SandboxControl } from "../control-fields";
import type { Exchange } from "../exchange";
import { type Chunk, streamAnswer, type StreamedAnswer } from "../stream";
import { toolArguments } from "../tokens";
import { countContents, type GeneratePlan, pathModel, planGenerate } from "./generate-plan";

export function handleGenerate(exchange: Exchange): void {
  const plan = planGenerate(exchange, false);
  const candidates = plan.candidates.map((tokens, index) => {
    return candidateOf(index, [...thoughtParts(plan, 0, plan.thoughtsTokens), ...parts(plan, 0, tokens, tokens)], plan);
  });
  const answer = responseOf(plan, candidates, usageOf(plan, exchange.control, plan.completionTokens));
  answerJson(exchange, plan, JSON.stringify(answer));
}

export function handleStreamGenerate(exchange: Exchange): void {
  const plan = planGenerate(exchange, true);
  const isEvents = exchange.request.query().get("alt") === "sse";
  const frames: Pick<StreamedAnswer, "end" | "errorEvent" | "contentType"> = isEvents
    ? { end: "", errorEvent: (body) => `data: ${body}\r\n\r\n` }
    : { end: "]", errorEvent: (body) => `,\r\n${body}]`, contentType: "application/json; charset=UTF-8" };
  streamAnswer(exchange, plan, {
    ...frames,
    chunks: framed(responses(plan, exchange.control), isEvents),
    hiddenTokens: plan.showsThoughts ? 0 : plan.thoughtsTokens,
  });
}

/** Free, and not on the bill. */
export function handleGeminiCount(exchange: Exchange): void {
  pathModel(exchange.params[0] ?? "");
  const { body, control } = exchange;
  const inner = body.generateContentRequest;
  const request = typeof inner === "object" && inner !== null ? (inner as typeof body) : body;
  const totalTokens = control.promptTokens ?? countContents(request);
  const promptTokensDetails = [{ modality: "TEXT", tokenCount: totalTokens }];
  answerJson(exchange, undefined, JSON.stringify({ totalTokens, promptTokensDetails }));
}

interface Piece {
  readonly response: object;
  readonly tokens: number;
}

/** Each response of the stream has the usage so far. */
function* responses(plan: GeneratePlan, control: SandboxControl): Generator<Piece, undefined> {
  const step = control.tokensPerChunk ?? 1;
  let produced = plan.showsThoughts ? 0 : plan.thoughtsTokens;
  if (plan.isBlocked) {
    yield { response: responseOf(plan, [], usageOf(plan, control, 0)), tokens: 0 };
    return undefined;
  }
  for (let from = 0; plan.showsThoughts && from < plan.thoughtsTokens; from += step) {
    const to = Math.min(from + step, plan.thoughtsTokens);
    produced += to - from;
    const candidate = candidateOf(0, thoughtParts(plan, from, to), undefined);
    yield { response: responseOf(plan, [candidate], usageOf(plan, control, produced)), tokens: to - from };
  }
  for (const [index, total] of plan.candidates.entries()) {
    for (let from = 0; from === 0 || from < total; from += step) {
      // A call comes whole.
      const to = plan.functionCalls.length > 0 ? total : Math.min(from + step, total);
      produced += to - from;
      const candidate = candidateOf(index, parts(plan, from, to, total), to === total ? plan : undefined);
      yield { response: responseOf(plan, [candidate], usageOf(plan, control, produced)), tokens: to - from };
      if (to === total) break;
    }
  }
  return undefined;
}

function* framed(pieces: Iterable<Piece>, isEvents: boolean): Generator<Chunk, undefined> {
  let before = isEvents ? "data: " : "[";
  for (const { response, tokens } of pieces) {
    yield { text: `${before}${JSON.stringify(response)}${isEvents ? "\r\n\r\n" : ""}`, tokens };
    if (!isEvents) before = ",\r\n";
  }
  return undefined;
}

function responseOf(plan: GeneratePlan, candidates: readonly object[], usageMetadata: object | undefined): object {
  const { answerModel: modelVersion, responseId } = plan;
  const answer = plan.isBlocked ? { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } } : { candidates };
  return { ...answer, ...(usageMetadata === undefined ? {} : { usageMetadata }), modelVersion, responseId };
}

/** `ending` is given for the last piece of a candidate. */
function candidateOf(index: number, ownParts: readonly object[], ending: GeneratePlan | undefined): object {
  const content = { parts: ownParts, role: "model" };
  return { content, ...(ending === undefined ? {} : { finishReason: ending.finishReason }), index };
}

function thoughtParts(plan: GeneratePlan, from: number, to: number): object[] {
  return plan.showsThoughts && to > from ? [{ text: plan.text(from, to), thought: true }] : [];
}

function parts(plan: GeneratePlan, from: number, to: number, total: number): object[] {
  if (plan.functionCalls.length === 0) return [{ text: plan.text(from, to) }];
  const args: unknown = JSON.parse(toolArguments(plan.text, 0, total, total));
  return plan.functionCalls.map((name) => ({ functionCall: { name, args } }));
}

/** `candidatesTokenCount` leaves the thoughts out; the total has everything. */
function usageOf(plan: GeneratePlan, control: SandboxControl, produced: number): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  if (control.fault === "zero_usage") return { promptTokenCount: 0, totalTokenCount: 0 };
  const thoughts = Math.min(plan.thoughtsTokens, produced);
  const prompt = plan.promptTokens - plan.toolPromptTokens;
  const audio = plan.extras?.audioInputTokens ?? 0;
  const modalities = [
    { modality: "TEXT", tokenCount: prompt - audio },
    ...(audio === 0 ? [] : [{ modality: "AUDIO", tokenCount: audio }]),
  ];
  return {
    promptTokenCount: prompt,
    ...(produced > thoughts ? { candidatesTokenCount: produced - thoughts } : {}),
    totalTokenCount: plan.promptTokens + produced,
    ...(plan.cachedTokens > 0 ? { cachedContentTokenCount: plan.cachedTokens } : {}),
    promptTokensDetails: modalities,
    ...(plan.toolPromptTokens > 0 ? { toolUsePromptTokenCount: plan.toolPromptTokens } : {}),
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  };
}
