/** Parts of content that both sides have: text, and pictures as base64 or by address. */
import type { Json } from "./untranslatable";
import { objectAt, onlyKnown, textAt, Untranslatable } from "./untranslatable";

/** Marks for the provider's cache: they change no answer, and OpenAI caches without them. */
export const CACHE_HINT = { cache_control: () => true };

/** The four kinds Anthropic takes (API reference: vision). */
const DATA_URL = /^data:(image\/(?:jpeg|png|gif|webp));base64,([A-Za-z0-9+/]+={0,2})$/u;

export function textBlock(text: string): Json {
  return { type: "text", text };
}

function imageBlock(image: Json, field: string): Json {
  onlyKnown(image, ["url"], { detail: (value) => value === "auto" }, `${field}.image_url.`);
  const url = textAt(image.url, `${field}.image_url.url`);
  if (url.startsWith("https://")) return { type: "image", source: { type: "url", url } };
  const [, media_type, data] = DATA_URL.exec(url) ?? [];
  if (data === undefined) {
    const why = "must be an https address or base64 of a jpeg, png, gif or webp picture";
    throw new Untranslatable(`${field}.image_url.url`, why);
  }
  return { type: "image", source: { type: "base64", media_type, data } };
}

/** A part of OpenAI content as an Anthropic block. */
export function blockOfPart(value: unknown, field: string, allowsImages: boolean): Json {
  const part = objectAt(value, field);
  if (part.type === "text") {
    onlyKnown(part, ["type", "text"], {}, `${field}.`);
    return textBlock(textAt(part.text, `${field}.text`));
  }
  if (part.type === "image_url" && allowsImages) {
    onlyKnown(part, ["type", "image_url"], {}, `${field}.`);
    return imageBlock(objectAt(part.image_url, `${field}.image_url`), field);
  }
  throw new Untranslatable(`${field}.type`, "has no exact counterpart for a model of the other provider");
}

function imagePart(source: Json, field: string): Json {
  if (source.type === "url") {
    const url = textAt(source.url, `${field}.source.url`);
    if (!url.startsWith("https://")) throw new Untranslatable(`${field}.source.url`, "must be an https address");
    return { type: "image_url", image_url: { url } };
  }
  const url = `data:${String(source.media_type)};base64,${String(source.data)}`;
  if (source.type === "base64" && DATA_URL.test(url)) return { type: "image_url", image_url: { url } };
  throw new Untranslatable(`${field}.source`, "must be an https address or base64 of a picture");
}

/** An Anthropic block as a part of OpenAI content. */
export function partOfBlock(value: unknown, field: string, allowsImages: boolean): Json {
  const block = objectAt(value, field);
  if (block.type === "text") {
    const neutral = { ...CACHE_HINT, citations: (cited: unknown) => Array.isArray(cited) && cited.length === 0 };
    onlyKnown(block, ["type", "text"], neutral, `${field}.`);
    return textBlock(textAt(block.text, `${field}.text`));
  }
  if (block.type === "image" && allowsImages) {
    onlyKnown(block, ["type", "source"], CACHE_HINT, `${field}.`);
    return imagePart(objectAt(block.source, `${field}.source`), field);
  }
  throw new Untranslatable(`${field}.type`, "has no exact counterpart for a model of the other provider");
}
