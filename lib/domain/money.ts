/**
 * Exact money. An amount is an integer number of nanos (1e-9 of a currency unit) in a `bigint`; nothing here ever
 * passes through a float, because one embedding call may cost 120 nanos and a year of them must still add up.
 *
 * Rules:
 * - An amount fits a signed 64-bit integer (`MAX_AMOUNT`, about 9.2 billion currency units): Postgres `bigint` and
 *   Redis `HINCRBY` hold nothing larger, so a larger result is refused here rather than wrapped there.
 * - Holds round up (`"up"`), settlements round half to even (`"halfEven"`), once per call.
 * - Text is plain decimal. `NaN`, `Infinity`, exponents ("1e309"), hexadecimal, separators and blanks are refused.
 *
 * Errors: every function throws `MoneyError`, a `RangeError` with a stable `code` for callers that map it to a field.
 */

/** Integer amount in 1e-9 of a currency unit; the currency travels beside it. */
export type Nanos = bigint;

/** `"up"` is towards positive infinity (a hold never understates), `"halfEven"` is banker's rounding. */
export type Rounding = "up" | "halfEven";

/** A positive exchange rate as an exact fraction: units of the target currency per unit of the source currency. */
export interface ExactRate {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export type MoneyErrorCode = "malformed" | "negative" | "out_of_range" | "division_by_zero" | "invalid_rate";

/** A value that is not an acceptable amount or rate. The message names the problem and is safe to show. */
export class MoneyError extends RangeError {
  readonly code: MoneyErrorCode;

  constructor(code: MoneyErrorCode, message: string) {
    super(message);
    this.name = "MoneyError";
    this.code = code;
  }
}

export const NANOS_PER_UNIT = 1_000_000_000n;
/** The largest amount either way: the largest signed 64-bit integer. */
export const MAX_AMOUNT: Nanos = 2n ** 63n - 1n;

const NANO_DIGITS = 9;
/** Longest accepted text: enough for any price or rate, short enough that a hostile one costs nothing to refuse. */
const MAX_TEXT_LENGTH = 64;
const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?$/;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/** Returns `nanos` unchanged when it fits; throws `out_of_range` (or `negative`) otherwise. */
export function assertAmount(nanos: bigint, options: { allowNegative?: boolean } = {}): Nanos {
  if (nanos > MAX_AMOUNT || nanos < -MAX_AMOUNT) {
    throw new MoneyError("out_of_range", "The amount is larger than the ledger can hold");
  }
  if (nanos < 0n && options.allowNegative === false) {
    throw new MoneyError("negative", "The amount must not be negative");
  }
  return nanos;
}

/**
 * Parses a decimal number of currency units ("12.50") into nanos. Digits beyond the ninth are rounded as asked.
 * Negative text is refused unless `allowNegative` is true. Throws `malformed`, `negative` or `out_of_range`.
 */
export function parseDecimalToNanos(
  text: string,
  rounding: Rounding,
  options: { allowNegative?: boolean } = {},
): Nanos {
  const { coefficient, scale } = parseDecimal(text);
  const nanos = mulDiv(coefficient, NANOS_PER_UNIT, 10n ** BigInt(scale), rounding);
  if (coefficient < 0n && options.allowNegative !== true) {
    throw new MoneyError("negative", "The amount must not be negative");
  }
  return assertAmount(nanos);
}

/**
 * Reads an amount that is already in nanos from outside: a bigint, a safe integer, or canonical integer text as Redis
 * and JSON carry it ("-12", never "012", "1.0" or "1e3"). Throws `malformed`, `negative` or `out_of_range`.
 */
export function nanosFromInteger(value: bigint | number | string, options: { allowNegative?: boolean } = {}): Nanos {
  if (typeof value === "bigint") return assertAmount(value, options);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new MoneyError("malformed", "The amount is not a safe integer of nanos");
    return assertAmount(BigInt(value), options);
  }
  if (typeof value !== "string" || value.length > MAX_TEXT_LENGTH || !INTEGER.test(value)) {
    throw new MoneyError("malformed", "The amount is not an integer of nanos");
  }
  return assertAmount(BigInt(value), options);
}

/** The exact decimal text of an amount in currency units, without trailing zeros: `120n` is "0.00000012". */
export function nanosToDecimal(nanos: Nanos): string {
  const magnitude = nanos < 0n ? -nanos : nanos;
  const whole = (magnitude / NANOS_PER_UNIT).toString();
  const fraction = (magnitude % NANOS_PER_UNIT).toString().padStart(NANO_DIGITS, "0").replace(/0+$/, "");
  const sign = nanos < 0n ? "-" : "";
  return fraction === "" ? sign + whole : `${sign}${whole}.${fraction}`;
}

export interface FormatNanosOptions {
  /** ISO 4217 code; without it a plain number is printed. An unknown shape makes `Intl` throw a `RangeError`. */
  readonly currency?: string;
  /** Digits after the point, 0 to 9. Default: 2, or as many as it takes to show two digits of a smaller amount. */
  readonly digits?: number;
  /** BCP 47 locale, default "en". */
  readonly locale?: string;
}

/** Text for people, rounded half to even. By default an amount that is not zero is never shown as zero. */
export function formatNanos(nanos: Nanos, options: FormatNanosOptions = {}): string {
  const digits = options.digits ?? readableDigits(nanos);
  if (!Number.isInteger(digits) || digits < 0 || digits > NANO_DIGITS) {
    throw new MoneyError("out_of_range", "digits must be an integer from 0 to 9");
  }
  const unit = 10n ** BigInt(NANO_DIGITS - digits);
  const rounded = divideHalfEven(nanos, unit) * unit;
  const format = new Intl.NumberFormat(options.locale ?? "en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    ...(options.currency === undefined ? {} : { style: "currency", currency: options.currency }),
  });
  // Intl formats decimal text exactly; the cast only says that our text is numeric.
  return format.format(nanosToDecimal(rounded) as `${number}`);
}

/** `a * b / c`, exact, rounded half to even. Throws `division_by_zero` or `out_of_range`. */
export function mulDivHalfEven(a: bigint, b: bigint, c: bigint): bigint {
  return assertAmount(mulDiv(a, b, c, "halfEven"));
}

/** `a * b / c`, exact, rounded towards positive infinity. Throws `division_by_zero` or `out_of_range`. */
export function mulDivCeil(a: bigint, b: bigint, c: bigint): bigint {
  return assertAmount(mulDiv(a, b, c, "up"));
}

/**
 * Converts an amount with a rate given as a fraction or as plain decimal text ("7.1234"). The rate must be positive:
 * a zero rate would make spend free. Throws `invalid_rate` or `out_of_range`.
 */
export function convertNanos(nanos: Nanos, rate: ExactRate | string, rounding: Rounding): Nanos {
  const { numerator, denominator } = typeof rate === "string" ? parseRate(rate) : rate;
  if (numerator <= 0n || denominator <= 0n) throw new MoneyError("invalid_rate", "An exchange rate must be positive");
  return assertAmount(mulDiv(assertAmount(nanos), numerator, denominator, rounding));
}

function parseRate(text: string): ExactRate {
  try {
    const { coefficient, scale } = parseDecimal(text);
    return { numerator: coefficient, denominator: 10n ** BigInt(scale) };
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw new MoneyError("invalid_rate", "An exchange rate must be a plain decimal number");
  }
}

/** Plain decimal text as `coefficient / 10^scale`. The run-time type check guards untyped callers. */
function parseDecimal(text: string): { coefficient: bigint; scale: number } {
  if (typeof text !== "string") throw new MoneyError("malformed", "An amount must be given as decimal text");
  if (text.length > MAX_TEXT_LENGTH) throw new MoneyError("malformed", "The number has too many digits");
  const match = DECIMAL.exec(text);
  if (match === null) throw new MoneyError("malformed", "The text is not a plain decimal number such as 12.50");
  const fraction = match[3] ?? "";
  const magnitude = BigInt(`${match[2] ?? ""}${fraction}`);
  return { coefficient: match[1] === "-" ? -magnitude : magnitude, scale: fraction.length };
}

function mulDiv(a: bigint, b: bigint, c: bigint, rounding: Rounding): bigint {
  if (c === 0n) throw new MoneyError("division_by_zero", "Division by zero");
  const numerator = c < 0n ? -(a * b) : a * b;
  const denominator = c < 0n ? -c : c;
  return rounding === "up" ? divideUp(numerator, denominator) : divideHalfEven(numerator, denominator);
}

/** Both need a positive denominator. `bigint` division truncates towards zero and the remainder has the sign of `n`. */
function divideUp(n: bigint, d: bigint): bigint {
  return n % d > 0n ? n / d + 1n : n / d;
}

function divideHalfEven(n: bigint, d: bigint): bigint {
  const quotient = n / d;
  const remainder = n % d;
  const twice = (remainder < 0n ? -remainder : remainder) * 2n;
  if (twice < d || (twice === d && quotient % 2n === 0n)) return quotient;
  return n < 0n ? quotient - 1n : quotient + 1n;
}

function readableDigits(nanos: Nanos): number {
  const magnitude = nanos < 0n ? -nanos : nanos;
  if (magnitude === 0n || magnitude >= NANOS_PER_UNIT / 100n) return 2;
  const leadingZeros = NANO_DIGITS - magnitude.toString().length;
  return Math.min(NANO_DIGITS, leadingZeros + 2);
}
