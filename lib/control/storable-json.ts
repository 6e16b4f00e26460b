/** JSON of what callers said, with its texts as Postgres can keep them. */

// jsonb holds neither NUL nor half a surrogate pair; a caller's `user` or `model` may carry both.
const LONE_SURROGATE = /\p{Cs}/gu;

function storable(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").replace(LONE_SURROGATE, "\ufffd");
}

/** As JSON.parse, with U+FFFD in the place of what cannot be kept. Throws SyntaxError. */
export function parseStorable(json: string): unknown {
  return JSON.parse(json, (_name, part: unknown) => (typeof part === "string" ? storable(part) : part));
}
