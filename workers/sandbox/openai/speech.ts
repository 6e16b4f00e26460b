/** POST /v1/audio/speech: bytes of audio, or server-sent events with usage for models charged by the token. */
import { Buffer } from "node:buffer";
import { answerBytes } from "../answer";
import { choiceField, modelField, requiredText, textField } from "../body-fields";
import type { SandboxControl } from "../control-fields";
import { missingField, RequestError } from "../errors";
import type { Exchange, Metered } from "../exchange";
import { type Chunk, dataEvent, streamAnswer } from "../stream";
import { countInputTokens } from "../tokens";

const CONTENT_TYPES = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
} as const;
type AudioFormat = keyof typeof CONTENT_TYPES;
const FORMATS = Object.keys(CONTENT_TYPES) as AudioFormat[];
const MAX_CHARACTERS = 4_096;
/** Audio tokens of a text, where the control says nothing. */
const AUDIO_TOKENS_PER_TEXT_TOKEN = 5;
const BYTES_PER_TOKEN = 240;
const WAV_BYTES_PER_SECOND = 48_000;

export function handleSpeech(exchange: Exchange): void {
  const { body, control } = exchange;
  const model = modelField(body, "speech");
  const input = requiredText(body, "input");
  if (body.voice === undefined) throw missingField("voice");
  const characters = [...input].length;
  if (characters > MAX_CHARACTERS) {
    const message = `Invalid 'input': maximum length ${MAX_CHARACTERS}, got ${characters}.`;
    throw new RequestError(400, "string_above_max_length", message, "input");
  }
  const format = choiceField(body, "response_format", FORMATS) ?? "mp3";
  const isEvents = choiceField(body, "stream_format", ["sse", "audio"] as const) === "sse";
  if (model.unitPrices?.characters !== undefined) {
    if (isEvents)
      throw new RequestError(400, "unsupported_value", `'sse' is not supported by '${model.id}'.`, "stream_format");
    const counts = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
    const metered: Metered = { model, stream: false, ...counts, extras: { characters } };
    answerBytes(exchange, metered, audioOf(format, countInputTokens(input)), CONTENT_TYPES[format]);
    return;
  }
  const counted = countInputTokens(input + (textField(body, "instructions") ?? ""));
  const promptTokens = control.promptTokens ?? counted;
  const completionTokens = control.completionTokens ?? counted * AUDIO_TOKENS_PER_TEXT_TOKEN;
  const counts = { promptTokens, cachedTokens: 0, completionTokens };
  const metered: Metered = { model, stream: isEvents, ...counts, extras: { audioOutputTokens: completionTokens } };
  if (isEvents) {
    const chunks = speechEvents(metered, control);
    streamAnswer(exchange, metered, { chunks, end: "", errorEvent: dataEvent, hiddenTokens: 0 });
  } else {
    answerBytes(exchange, metered, audioOf(format, completionTokens), CONTENT_TYPES[format]);
  }
}

function* speechEvents(metered: Metered, control: SandboxControl): Generator<Chunk, undefined> {
  const step = control.tokensPerChunk ?? 1;
  for (let from = 0; from < metered.completionTokens; from += step) {
    const tokens = Math.min(step, metered.completionTokens - from);
    const audio = Buffer.alloc(tokens * BYTES_PER_TOKEN).toString("base64");
    yield { text: dataEvent(JSON.stringify({ type: "speech.audio.delta", audio })), tokens };
  }
  yield { text: dataEvent(JSON.stringify({ type: "speech.audio.done", usage: usageOf(metered, control) })), tokens: 0 };
  return undefined;
}

function usageOf({ promptTokens, completionTokens }: Metered, control: SandboxControl): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  const isZero = control.fault === "zero_usage";
  const [input, output] = isZero ? [0, 0] : [promptTokens, completionTokens];
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** Silence: a whole WAV file where that is asked for, otherwise bytes that only claim to be audio. */
function audioOf(format: AudioFormat, tokens: number): Buffer {
  const samples = Buffer.alloc(tokens * BYTES_PER_TOKEN);
  if (format !== "wav") return samples;
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(WAV_BYTES_PER_SECOND / 2, 24);
  header.writeUInt32LE(WAV_BYTES_PER_SECOND, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
