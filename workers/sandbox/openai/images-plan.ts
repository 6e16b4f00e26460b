/** Reads an image request and decides what the pictures cost: tokens by size and quality, or a price each. */
import { type Body, choiceField, integerField, modelField, requiredText, textField } from "../body-fields";
import { RequestError } from "../errors";
import type { Call, Metered } from "../exchange";
import { Upload } from "../form";
import { countInputTokens } from "../tokens";

export interface ImagesPlan extends Metered {
  readonly createdSeconds: number;
  readonly count: number;
  readonly size: string;
  readonly quality: string;
  readonly format: string;
  readonly partialImages: number;
  /** Text and image tokens of the input, for models that are charged by the token. */
  readonly textTokens: number;
  readonly imageTokens: number;
  readonly isTokenPriced: boolean;
  readonly wantsUrl: boolean;
}

/** A picture of one blue pixel. */
export const PNG_BASE64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGOQy78JAAIVAWfnZdaRAAAAAElFTkSuQmCC";

const MAX_IMAGES = 10;
const MAX_PARTIAL_IMAGES = 3;
const TOKENS_PER_PARTIAL_IMAGE = 100;
/** Of an input image at low and at high fidelity. */
const LOW_FIDELITY_TOKENS = 323;
const HIGH_FIDELITY_TOKENS = 4_483;
const OUTPUT_TOKENS = new Map<string, number>([
  ["low/1024x1024", 272],
  ["low/1024x1536", 408],
  ["low/1536x1024", 400],
  ["medium/1024x1024", 1_056],
  ["medium/1024x1536", 1_584],
  ["medium/1536x1024", 1_568],
  ["high/1024x1024", 4_160],
  ["high/1024x1536", 6_240],
  ["high/1536x1024", 6_208],
]);
const AUTO_QUALITY = "medium";
const AUTO_SIZE = "1024x1024";

export type ImagesKind = "image_generation" | "image_edit" | "image_variation";

/**
 * Throws `RequestError` for a request that OpenAI would refuse. Edits and variations want at least one picture to work on; a
 * variation has no prompt and is no stream.
 */
export function planImages({ body, control, receivedAtMs }: Call, asked: ImagesKind): ImagesPlan {
  const model = modelField(body, "images");
  const prompt = asked === "image_variation" ? "" : requiredText(body, "prompt");
  const count = integerField(body, "n", MAX_IMAGES) ?? 1;
  const isTokenPriced = model.imagePrices === undefined;
  const { size, quality } = kindOf(body, isTokenPriced);
  const kind = `${quality}/${size}`;
  if (!isTokenPriced && model.imagePrices[kind] === undefined) throw wrongSize(size);
  const inputImages = asked === "image_generation" ? 0 : imagesOf(body);
  const perImage = body.input_fidelity === "high" ? HIGH_FIDELITY_TOKENS : LOW_FIDELITY_TOKENS;
  const textTokens = isTokenPriced ? countInputTokens(prompt) : 0;
  const imageTokens = isTokenPriced ? (control.imageInputTokens ?? inputImages * perImage) : 0;
  const stream = isTokenPriced && asked !== "image_variation" && body.stream === true;
  const partialImages = stream ? (integerField(body, "partial_images", MAX_PARTIAL_IMAGES, 0) ?? 0) : 0;
  const perOutput = OUTPUT_TOKENS.get(kind);
  if (isTokenPriced && perOutput === undefined) throw wrongSize(size);
  const produced = (perOutput ?? 0) * count + partialImages * TOKENS_PER_PARTIAL_IMAGE;
  const completionTokens = isTokenPriced ? (control.completionTokens ?? produced) : 0;
  const promptTokens = isTokenPriced ? (control.promptTokens ?? textTokens + imageTokens) : 0;
  const extras = isTokenPriced
    ? { imageInputTokens: Math.min(imageTokens, promptTokens), imageOutputTokens: completionTokens }
    : { images: count, imageKind: kind };
  return {
    ...{ model, stream, promptTokens, cachedTokens: 0, completionTokens, extras },
    ...{ count, size, quality, partialImages, isTokenPriced },
    textTokens: promptTokens - Math.min(imageTokens, promptTokens),
    imageTokens: Math.min(imageTokens, promptTokens),
    createdSeconds: Math.floor(receivedAtMs / 1000),
    format: textField(body, "output_format") ?? "png",
    wantsUrl: !isTokenPriced && body.response_format !== "b64_json",
  };
}

function kindOf(body: Body, isTokenPriced: boolean): { size: string; quality: string } {
  const asked = textField(body, "size");
  const size = asked === undefined || asked === "auto" ? AUTO_SIZE : asked;
  const qualities = isTokenPriced ? (["low", "medium", "high", "auto"] as const) : (["standard", "hd"] as const);
  const quality = choiceField<string>(body, "quality", qualities) ?? (isTokenPriced ? AUTO_QUALITY : "standard");
  return { size, quality: quality === "auto" ? AUTO_QUALITY : quality };
}

function wrongSize(size: string): RequestError {
  return new RequestError(400, "invalid_value", `Invalid value: '${size}' is not a supported size.`, "size");
}

/** Pictures given as uploads, or in JSON as references. */
function imagesOf(body: Body): number {
  const given: unknown[] = [body.image, body.images].flat().filter((image) => image !== undefined);
  const isValid = given.length > 0 && given.every((image) => image instanceof Upload || typeof image === "object");
  if (!isValid)
    throw new RequestError(400, "missing_required_parameter", "Missing required parameter: 'image'.", "image");
  return given.length;
}
