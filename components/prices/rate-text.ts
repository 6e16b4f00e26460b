/** Rates as people read them: tokens per million, whatever else by the piece. Exact decimal text, never a number. Pure. */
import type { PriceRates, TokenRateName } from "@/lib/domain/price-rates";

const DECIMAL = /^(\d+)(?:\.(\d+))?$/u;
const MILLION_DIGITS = 6;

/** The decimal text times a million: "0.0000025" is "2.5". Text that is no plain decimal stays as it is. */
export function perMillion(text: string): string {
  const match = DECIMAL.exec(text);
  if (match === null) return text;
  const fraction = (match[2] ?? "").padEnd(MILLION_DIGITS, "0");
  const whole = `${match[1] ?? "0"}${fraction.slice(0, MILLION_DIGITS)}`.replace(/^0+(?=\d)/u, "");
  const rest = fraction.slice(MILLION_DIGITS).replace(/0+$/u, "");
  return rest === "" ? whole : `${whole}.${rest}`;
}

/** The other way round: "2.5" a million is "0.0000025" a token. Undefined for what is no plain decimal. */
export function perToken(text: string): string | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const digits = (match[1] ?? "0").padStart(MILLION_DIGITS + 1, "0");
  const whole = digits.slice(0, -MILLION_DIGITS).replace(/^0+(?=\d)/u, "");
  const rest = `${digits.slice(-MILLION_DIGITS)}${match[2] ?? ""}`.replace(/0+$/u, "");
  return rest === "" ? whole : `${whole}.${rest}`;
}

/** Whether the rate at this path is of one token: "longContext[0].inputPerToken". */
export function isOfToken(path: string): boolean {
  return /PerToken$/u.test(path);
}

/** A decimal with its thousands apart: "150,000.5". */
export function grouped(text: string): string {
  const match = DECIMAL.exec(text);
  if (match === null) return text;
  const whole = (match[1] ?? "0").replaceAll(/\B(?=(?:\d{3})+$)/gu, ",");
  return match[2] === undefined ? whole : `${whole}.${match[2]}`;
}

/** Whether what stands at the path is money, not a count or a threshold: "images[0].perImage". */
function isMoney(path: string): boolean {
  return isOfToken(path) || /(?:^|\.)per[A-Z]\w*$/u.test(path);
}

/** At least two digits after the point, as money is written, so that the points of a column stand below each other. */
function asMoney(text: string): string {
  if (!/^[\d,]+(?:\.\d*)?$/u.test(text)) return text;
  const [whole = "0", fraction = ""] = text.split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}

/** As shown: tokens per million, else by the piece. */
export function shownRate(path: string, text: string): string {
  const shown = grouped(isOfToken(path) ? perMillion(text) : text);
  return isMoney(path) ? asMoney(shown) : shown;
}

/** The columns of the table; what a row says besides is counted and listed apart. */
export const MAIN_RATES = ["inputPerToken", "cacheReadPerToken", "outputPerToken"] as const satisfies TokenRateName[];

export interface RateLine {
  readonly path: string;
  readonly text: string;
}

function linesOf(value: unknown, path: string): RateLine[] {
  if (Array.isArray(value)) return value.flatMap((one: unknown, index) => linesOf(one, `${path}[${String(index)}]`));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, one]) => linesOf(one, path === "" ? name : `${path}.${name}`));
  if (typeof value === "string") return [{ path, text: value }];
  return typeof value === "number" || typeof value === "boolean" ? [{ path, text: String(value) }] : [];
}

/** All that a row says, one line a fact. */
export function rateLines(rates: PriceRates): readonly RateLine[] {
  return linesOf(rates, "");
}

/** What a row says beside the columns of the table. */
export function otherRates(rates: PriceRates): readonly RateLine[] {
  return rateLines(rates).filter(({ path }) => !MAIN_RATES.some((main) => main === path));
}
