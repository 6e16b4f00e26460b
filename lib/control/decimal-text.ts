/** Exact steps on plain, non-negative decimal text, for rates too fine for nanos. */

/** `text` x 10^places, exact: ("2.5", -6) is "0.0000025". */
export function shiftDecimal(text: string, places: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  const digits = whole + fraction;
  const point = whole.length + places;
  const padded = point <= 0 ? "0".repeat(1 - point) + digits : digits.padEnd(point, "0");
  const at = point <= 0 ? 1 : point;
  const head = padded.slice(0, at).replace(/^0+(?=\d)/u, "");
  const tail = padded.slice(at).replace(/0+$/u, "");
  return tail === "" ? head : `${head}.${tail}`;
}

/** Below, at or above zero as `a` is below, equal to or above `b`. */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(fractionLength(a), fractionLength(b));
  const difference = BigInt(shiftDecimal(a, places)) - BigInt(shiftDecimal(b, places));
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function fractionLength(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}
