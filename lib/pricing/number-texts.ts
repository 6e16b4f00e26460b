/** JSON whose numbers stay text, since a price must not pass through a double. */

// A noncharacter of Unicode: no honest text of a price map begins with it.
const MARK = "\uFDD0";
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;

/** A number of a document read by `parseKeepingNumbers`, as it was written. */
export function numberText(value: unknown): string | undefined {
  return typeof value === "string" && value.startsWith(MARK) ? value.slice(1) : undefined;
}

/** Parses JSON with every number as a text that `numberText` recognises. Throws SyntaxError for what is not JSON. */
export function parseKeepingNumbers(json: string): unknown {
  JSON.parse(json);
  const marked = json.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${MARK}${token}"`));
  return JSON.parse(marked);
}
