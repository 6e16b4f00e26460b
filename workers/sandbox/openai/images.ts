/** POST /v1/images/generations, /edits and /variations, as one JSON body or as a stream with partial images. */
import { answerJson } from "../answer";
import type { SandboxControl } from "../control-fields";
import type { Exchange } from "../exchange";
import { type Chunk, dataEvent, streamAnswer } from "../stream";
import { type ImagesKind, type ImagesPlan, planImages, PNG_BASE64 } from "./images-plan";

export const handleImageGenerations = (exchange: Exchange): void => handleImages(exchange, "image_generation");
export const handleImageEdits = (exchange: Exchange): void => handleImages(exchange, "image_edit");
export const handleImageVariations = (exchange: Exchange): void => handleImages(exchange, "image_variation");

function handleImages(exchange: Exchange, kind: ImagesKind): void {
  const plan = planImages(exchange, kind);
  const { control } = exchange;
  if (!plan.stream) {
    answerJson(exchange, plan, JSON.stringify(imagesObject(plan, exchange)));
    return;
  }
  streamAnswer(exchange, plan, {
    chunks: imageEvents(plan, control, kind),
    end: "",
    errorEvent: dataEvent,
    hiddenTokens: 0,
  });
}

function imagesObject(plan: ImagesPlan, { control, callId }: Exchange): object {
  const url = `https://images.sandbox.invalid/${callId}.png`;
  const data = Array.from({ length: plan.count }, () => (plan.wantsUrl ? { url } : { b64_json: PNG_BASE64 }));
  if (!plan.isTokenPriced) return { created: plan.createdSeconds, data };
  const { size, quality, format: output_format } = plan;
  const usage = imagesUsage(plan, control);
  const shape = { background: "opaque", output_format, quality, size };
  return { created: plan.createdSeconds, data, ...shape, ...(usage === undefined ? {} : { usage }) };
}

function imagesUsage(plan: ImagesPlan, control: SandboxControl): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  const isZero = control.fault === "zero_usage";
  const [text, image, output] = isZero ? [0, 0, 0] : [plan.textTokens, plan.imageTokens, plan.completionTokens];
  return {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: text + image + output,
  };
}

/** Each partial image and each finished one has its share of the output tokens; the last event holds the usage. */
function* imageEvents(plan: ImagesPlan, control: SandboxControl, kind: string): Generator<Chunk, undefined> {
  const { size, quality, format: output_format, createdSeconds: created_at } = plan;
  const shape = { b64_json: PNG_BASE64, created_at, background: "opaque", output_format, quality, size };
  const pieces = plan.partialImages + plan.count;
  const share = Math.floor(plan.completionTokens / pieces);
  for (let index = 0; index < plan.partialImages; index += 1) {
    const type = `${kind}.partial_image`;
    yield frame({ type, ...shape, partial_image_index: index }, share);
  }
  for (let index = 0; index < plan.count; index += 1) {
    const isLast = index === plan.count - 1;
    const usage = isLast ? imagesUsage(plan, control) : undefined;
    const tokens = isLast ? plan.completionTokens - share * (pieces - 1) : share;
    yield frame({ type: `${kind}.completed`, ...shape, ...(usage === undefined ? {} : { usage }) }, tokens);
  }
  return undefined;
}

function frame(event: { readonly type: string } & Readonly<Record<string, unknown>>, tokens: number): Chunk {
  return { text: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, tokens };
}
