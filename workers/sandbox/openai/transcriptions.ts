/** POST /v1/audio/transcriptions and /v1/audio/translations in every format, streamed for models charged by the token. */
import { Buffer } from "node:buffer";
import { answerBytes, answerJson } from "../answer";
import type { SandboxControl } from "../control-fields";
import type { Exchange } from "../exchange";
import { type Chunk, dataEvent, streamAnswer } from "../stream";
import { answerText } from "../tokens";
import { planTranscription, type TranscriptionPlan } from "./transcriptions-plan";

const TEXT_TYPE = "text/plain; charset=utf-8";
/** Words of an answer that is charged by the second. */
const DEFAULT_WORDS = 16;

export const handleTranscriptions = (exchange: Exchange): void => transcribe(exchange, false);
export const handleTranslations = (exchange: Exchange): void => transcribe(exchange, true);

function transcribe(exchange: Exchange, isTranslation: boolean): void {
  const plan = planTranscription(exchange, isTranslation);
  const { control } = exchange;
  const text = textOf(plan, control);
  if (plan.stream) {
    const chunks = transcriptEvents(plan, control, text);
    streamAnswer(exchange, plan, { chunks, end: "", errorEvent: dataEvent, hiddenTokens: 0 });
    return;
  }
  switch (plan.format) {
    case "json": {
      // A translation says nothing about what it used.
      const usage = isTranslation ? undefined : usageOf(plan, control);
      answerJson(exchange, plan, JSON.stringify({ text, usage }));
      return;
    }
    case "verbose_json":
      answerJson(exchange, plan, JSON.stringify(verbose(plan, control, text, isTranslation)));
      return;
    case "text":
    case "srt":
    case "vtt":
      answerBytes(exchange, plan, Buffer.from(subtitles(plan, text)), TEXT_TYPE);
  }
}

function textOf(plan: TranscriptionPlan, control: SandboxControl): string {
  const words = plan.isTokenPriced ? plan.completionTokens : (control.completionTokens ?? DEFAULT_WORDS);
  return answerText(0, words);
}

function usageOf(plan: TranscriptionPlan, control: SandboxControl): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  const isZero = control.fault === "zero_usage";
  if (!plan.isTokenPriced) return { type: "duration", seconds: isZero ? 0 : Math.ceil(plan.durationSeconds) };
  const audio = isZero ? 0 : (plan.extras?.audioInputTokens ?? 0);
  const input = isZero ? 0 : plan.promptTokens;
  const output = isZero ? 0 : plan.completionTokens;
  return {
    type: "tokens",
    input_tokens: input,
    input_token_details: { text_tokens: input - audio, audio_tokens: audio },
    output_tokens: output,
    total_tokens: input + output,
  };
}

function verbose(plan: TranscriptionPlan, control: SandboxControl, text: string, isTranslation: boolean): object {
  const segment = {
    ...{ id: 0, seek: 0, start: 0, end: plan.durationSeconds, text, tokens: [50_364], temperature: 0 },
    ...{ avg_logprob: -0.2, compression_ratio: 1.2, no_speech_prob: 0.01 },
  };
  const task = isTranslation ? "translate" : "transcribe";
  const usage = isTranslation ? undefined : usageOf(plan, control);
  return { task, language: plan.language, duration: plan.durationSeconds, text, segments: [segment], usage };
}

function subtitles({ format, durationSeconds }: TranscriptionPlan, text: string): string {
  if (format === "text") return `${text}\n`;
  const mark = format === "srt" ? "," : ".";
  const line = `${timeOf(0, mark)} --> ${timeOf(durationSeconds, mark)}\n${text}\n\n`;
  return format === "srt" ? `1\n${line}` : `WEBVTT\n\n${line}`;
}

/** `00:00:01,500` */
function timeOf(seconds: number, mark: string): string {
  return new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23).replace(".", mark);
}

function* transcriptEvents(
  plan: TranscriptionPlan,
  control: SandboxControl,
  text: string,
): Generator<Chunk, undefined> {
  const step = control.tokensPerChunk ?? 1;
  for (let from = 0; from < plan.completionTokens; from += step) {
    const to = Math.min(from + step, plan.completionTokens);
    const delta = answerText(from, to);
    yield { text: dataEvent(JSON.stringify({ type: "transcript.text.delta", delta })), tokens: to - from };
  }
  const done = { type: "transcript.text.done", text, usage: usageOf(plan, control) };
  yield { text: dataEvent(JSON.stringify(done)), tokens: 0 };
  return undefined;
}
