/** Reads an audio upload and decides what its text costs: seconds, or tokens, by the model. */
import type { Buffer } from "node:buffer";
import { choiceField, modelField, textField } from "../body-fields";
import { RequestError } from "../errors";
import type { Call, Metered } from "../exchange";
import { Upload } from "../form";
import { countInputTokens } from "../tokens";

export const FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;

export interface TranscriptionPlan extends Metered {
  readonly format: (typeof FORMATS)[number];
  /** Exact length of the audio; what is billed is rounded up. */
  readonly durationSeconds: number;
  readonly isTokenPriced: boolean;
  readonly language: string;
}

const DEFAULT_TOKENS = 16;
const AUDIO_TOKENS_PER_SECOND = 10;
/** Of audio whose length its bytes do not tell: 128 kbit/s. */
const ASSUMED_BYTES_PER_SECOND = 16_000;
const WAV_HEADER_BYTES = 44;

/** Throws `RequestError` for a request that OpenAI would refuse. */
export function planTranscription({ body, control }: Call, isTranslation: boolean): TranscriptionPlan {
  const model = modelField(body, "transcriptions");
  const { file } = body;
  if (!(file instanceof Upload)) {
    throw new RequestError(400, "missing_required_parameter", "Missing required parameter: 'file'.", "file");
  }
  const isTokenPriced = model.unitPrices?.seconds === undefined;
  if (isTranslation && isTokenPriced) {
    throw new RequestError(400, "invalid_value", `The model '${model.id}' does not translate.`, "model");
  }
  const format = choiceField(body, "response_format", FORMATS) ?? "json";
  if (isTokenPriced && format !== "json" && format !== "text") {
    const message = `response_format '${format}' is not compatible with model '${model.id}'. Use 'json' or 'text' instead.`;
    throw new RequestError(400, "unsupported_value", message, "response_format");
  }
  const durationSeconds = control.audioSeconds ?? secondsOf(file.bytes);
  const seconds = Math.ceil(durationSeconds);
  const shared = { model, format, durationSeconds, isTokenPriced, cachedTokens: 0 };
  const language = isTranslation ? "english" : (textField(body, "language") ?? "english");
  if (!isTokenPriced) {
    const counts = { promptTokens: 0, completionTokens: 0, stream: false };
    return { ...shared, ...counts, language, extras: { seconds } };
  }
  const audioInputTokens = control.audioInputTokens ?? seconds * AUDIO_TOKENS_PER_SECOND;
  const promptTokens = audioInputTokens + countInputTokens(textField(body, "prompt") ?? "");
  const completionTokens = control.completionTokens ?? DEFAULT_TOKENS;
  const counts = { promptTokens, completionTokens, stream: body.stream === true };
  return { ...shared, ...counts, language, extras: { audioInputTokens } };
}

/** Length by the header of a WAV file, or by the number of bytes. */
function secondsOf(bytes: Buffer): number {
  const isWav = bytes.length >= WAV_HEADER_BYTES && bytes.toString("latin1", 0, 4) === "RIFF";
  const bytesPerSecond = isWav ? bytes.readUInt32LE(28) : 0;
  if (bytesPerSecond > 0) return (bytes.length - WAV_HEADER_BYTES) / bytesPerSecond;
  return bytes.length / ASSUMED_BYTES_PER_SECOND;
}
