/** Routes whose body is a form: audio/transcriptions, audio/translations, images/edits, images/variations and files (OpenAI API reference). */
import type { Denial } from "@/lib/domain/denial";
import { audioSecondsBound } from "./audio-length";
import type { Body } from "./fields";
import {
  asDenial,
  endUserOf,
  guessTokens,
  Invalid,
  modelOf,
  TOKENS_PER_MEDIA_PART,
  textBytes,
  textOf,
  wordOf,
} from "./fields";
import type { FilePart, Form } from "./form";
import { imageOutputTokens, imagesAsked } from "./image-tokens";
import type { FormRequest, RequestShape } from "./route-request";
import { NO_EXTRAS } from "./route-request";

/** gpt-4o-transcribe hears 10 tokens a second; twice that leaves room for its successors. Nobody speaks 10 tokens a second. */
const INPUT_TOKENS_PER_SECOND = 20;
const OUTPUT_TOKENS_PER_SECOND = 10;

/**
 * Fields the gateway reads, each at most once and by its exact name: servers differ in which of two values they obey, and in
 * what `n[]` or `N` is.
 */
const READ_FIELDS = new Set([
  "model",
  "n",
  "size",
  "quality",
  "stream",
  "partial_images",
  "response_format",
  "purpose",
  "user",
  "prompt",
]);

function fieldsOf(form: Form): Body {
  const fields: Record<string, string> = {};
  for (const part of form.parts) {
    const plain = part.name.toLowerCase().replace(/\[.*$/u, "").trim();
    if (!READ_FIELDS.has(plain)) continue;
    if (part.kind === "file") throw new Invalid(plain, `${plain} must be a field, not a file`);
    if (part.name !== plain || plain in fields) throw new Invalid(plain, `${plain} must be given once, by this name`);
    fields[plain] = part.value;
  }
  return fields;
}

function filesOf(form: Form, pattern: RegExp): readonly FilePart[] {
  return form.parts.flatMap((part) => (part.kind === "file" && pattern.test(part.name) ? [part] : []));
}

/** Numbers in a form are texts of digits. */
function numberOf(fields: Body, name: string, low: number, high: number): number | null {
  const text = textOf(fields, name);
  if (text === null || text === "") return null;
  const value = /^\d{1,9}$/u.test(text) ? Number(text) : Number.NaN;
  if (!(value >= low && value <= high))
    throw new Invalid(name, `${name} must be a whole number from ${low} to ${high}`);
  return value;
}

function flagOf(fields: Body, name: string): boolean {
  const text = textOf(fields, name);
  if (text === null || text === "") return false;
  if (text !== "true" && text !== "false") throw new Invalid(name, `${name} must be true or false`);
  return text === "true";
}

function fileBytes(files: readonly FilePart[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

function textsOf(form: Form): readonly string[] {
  return form.parts.flatMap((part) => (part.kind === "field" ? [part.value] : []));
}

function withForm(form: Form, shape: (fields: Body) => RequestShape): FormRequest | Denial {
  const read = asDenial(() => shape(fieldsOf(form)));
  if (read.kind === "denial") return read;
  const files = form.parts.flatMap((part) => (part.kind === "file" ? [part] : []));
  return { ...read, form, bodyBytes: fileBytes(files) + textBytes(textsOf(form)) };
}

export function parseTranscription(form: Form): FormRequest | Denial {
  return withForm(form, (fields) => {
    const files = filesOf(form, /^file$/u);
    const [file] = files;
    if (!file || files.length > 1) throw new Invalid("file", "file must be one file");
    const seconds = audioSecondsBound(file);
    const inputBound = textBytes(textsOf(form)) + seconds * INPUT_TOKENS_PER_SECOND;
    return {
      model: modelOf(fields),
      kind: "transcription",
      isStream: flagOf(fields, "stream"),
      wantsUsage: true,
      outputCap: seconds * OUTPUT_TOKENS_PER_SECOND,
      choices: 1,
      inputBound,
      inputGuess: () => Math.ceil(inputBound / 2),
      extraOutput: 0,
      endUser: endUserOf(fields),
      extras: { ...NO_EXTRAS, audioSeconds: seconds },
    };
  });
}

export function parseImageForm(form: Form): FormRequest | Denial {
  return withForm(form, (fields) => {
    const files = filesOf(form, /^(image|mask)(\[.*\])?$/u);
    if (files.length === 0) throw new Invalid("image", "image must be a file");
    const images = imagesAsked({
      count: numberOf(fields, "n", 1, 10),
      size: wordOf(fields, "size"),
      quality: wordOf(fields, "quality"),
      partials: numberOf(fields, "partial_images", 0, 3),
    });
    return {
      model: modelOf(fields),
      kind: "image",
      isStream: flagOf(fields, "stream"),
      wantsUsage: true,
      outputCap: imageOutputTokens(images),
      choices: images.count,
      inputBound: textBytes(textsOf(form)) + files.length * TOKENS_PER_MEDIA_PART,
      inputGuess: () => guessTokens(fields.prompt),
      extraOutput: 0,
      endUser: endUserOf(fields),
      extras: { ...NO_EXTRAS, images },
    };
  });
}

/** Files cost nothing by themselves and name no model; what a batch file asks for is reserved when the batch is made. */
export function parseFile(form: Form): FormRequest | Denial {
  return withForm(form, (fields) => {
    if (filesOf(form, /^file$/u).length !== 1) throw new Invalid("file", "file must be one file");
    if (wordOf(fields, "purpose") === null) throw new Invalid("purpose", "purpose must be a text");
    return {
      model: "",
      kind: "file",
      isStream: false,
      wantsUsage: false,
      outputCap: 0,
      choices: 1,
      inputBound: 0,
      inputGuess: () => 0,
      extraOutput: 0,
      endUser: null,
      extras: NO_EXTRAS,
    };
  });
}
