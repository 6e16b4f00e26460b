/** Exact decimals of the price rows as scaled integers. Nothing here passes through a double. */
import type { Nanos } from "@/lib/domain/money";

// Rates of the public price maps go down to 23 decimals; 27 keeps all of them whole numbers.
const SCALE_DIGITS = 27;
const NANO_DIGITS = 9;
/** Value of one nano at the scale of rates. */
export const NANO = 10n ** BigInt(SCALE_DIGITS - NANO_DIGITS);
const RATE = /^(\d{1,12})(?:\.(\d{1,27}))?$/u;
const MULTIPLIER_DIGITS = 6;
const MULTIPLIER = /^(\d{1,4})(?:\.(\d{1,6}))?$/u;
/** A multiplier of 1 at the scale of multipliers. */
export const ONE = 10n ** BigInt(MULTIPLIER_DIGITS);

/** A rate that is not plain decimal text, or a quantity for which the price row names no rate (`price_missing`). */
export class PriceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PriceError";
  }
}

/** A rate text as an integer of 1e-27. Throws PriceError. */
export function scaleRate(text: string): bigint {
  const match = RATE.exec(text);
  if (!match) throw new PriceError("a rate is plain decimal text");
  return BigInt((match[1] ?? "0") + (match[2] ?? "").padEnd(SCALE_DIGITS, "0"));
}

/** A multiplier text as an integer of 1e-6. Throws PriceError. */
export function scaleMultiplier(text: string): bigint {
  const match = MULTIPLIER.exec(text);
  if (!match) throw new PriceError("a multiplier is plain decimal text");
  return BigInt((match[1] ?? "0") + (match[2] ?? "").padEnd(MULTIPLIER_DIGITS, "0"));
}

/** Plain decimal text of `value` / 10^`digits`, without trailing zeros. */
export function decimalText(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, "0");
  const point = text.length - digits;
  const fraction = text.slice(point).replace(/0+$/u, "");
  const whole = text.slice(0, point);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** `value` / `divisor` to the nearest integer, half to even. Both are not negative. */
export function divideHalfEven(value: bigint, divisor: bigint): Nanos {
  const whole = value / divisor;
  const twice = (value - whole * divisor) * 2n;
  if (twice > divisor || (twice === divisor && whole % 2n === 1n)) return whole + 1n;
  return whole;
}

export function divideUp(value: bigint, divisor: bigint): Nanos {
  return (value + divisor - 1n) / divisor;
}

export function largest(values: readonly bigint[]): bigint {
  return values.reduce((high, value) => (value > high ? value : high), 0n);
}

const NUMBER = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/u;

/**
 * A number as JSON writes it, in plain decimal text: "1.25e-06" is "0.00000125", "0.0" is "0". Exact: no digit passes
 * through a double. Undefined for anything negative or malformed, and for more digits than a rate may have.
 */
export function plainDecimal(text: string): string | undefined {
  const match = NUMBER.exec(text);
  if (!match) return undefined;
  const plain = shiftPoint(match[1] ?? "0", match[2] ?? "", Number(match[3] ?? "0"));
  return RATE.test(plain) ? plain : undefined;
}

/** Plain decimal text times 10^`places`, exact: ("2.5", -6) is "0.0000025". */
export function shiftDecimal(text: string, places: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  return shiftPoint(whole, fraction, places);
}

function shiftPoint(whole: string, fraction: string, places: number): string {
  const digits = `${whole}${fraction}`;
  const decimals = fraction.length - places;
  return decimals >= 0 ? decimalText(BigInt(digits), decimals) : (BigInt(digits) * 10n ** BigInt(-decimals)).toString();
}
