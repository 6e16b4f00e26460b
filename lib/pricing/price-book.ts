/**
 * A price book: rows of models and their prices from a moment on, as people write them in YAML or CSV. Here a file is
 * already records with texts at the leaves (a number that went through a double is refused); the readers of the formats
 * are `lib/control/price-book-text.ts`. A book is taken whole or not at all, with every error named.
 */
import { z } from "zod";
import type { PriceRates } from "@/lib/domain/price-rates";
import { priceRatesSchema, TOKEN_RATE_NAMES } from "@/lib/domain/price-rates";
import { shiftDecimal } from "./decimal";

export interface PriceBookRow {
  readonly model: string;
  readonly currency: string;
  /** Rates of tokens per token, whatever the file wrote. */
  readonly rates: PriceRates;
  /** Unix ms; the row holds from it, until the next row of the model or `effectiveToMs`. */
  readonly effectiveFromMs: number;
  readonly effectiveToMs: number | null;
  readonly source: string | null;
}

export interface PriceBookProblem {
  /** Line of the file, from 1; 0 where there is none to name. */
  readonly line: number;
  /** "prices[3].rates.inputPerToken", or a column. */
  readonly path: string;
  readonly message: string;
}

export type PriceBookReading =
  | { readonly ok: true; readonly rows: readonly PriceBookRow[] }
  | { readonly ok: false; readonly problems: readonly PriceBookProblem[] };

/** A row as the file has it: plain objects, lists and texts. */
export interface PriceBookRecord {
  readonly value: unknown;
  /** Prefix of the paths in errors. */
  readonly path: string;
  /** Line of a member of the record, named by its keys. */
  lineOf(keys: readonly PropertyKey[]): number;
}

const MAX_ROWS = 50_000;

const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/u;

const moment = z.string().refine(isMoment, "write a moment such as 2026-12-01 (UTC) or 2026-12-01T08:00:00+08:00");

/** Date.parse takes the 30th of February for the 2nd of March. */
function isMoment(text: string): boolean {
  const date = MOMENT.exec(text)?.[1];
  if (date === undefined || Number.isNaN(Date.parse(text)) || Number.isNaN(Date.parse(date))) return false;
  return new Date(Date.parse(date)).toISOString().startsWith(date);
}

const rowSchema = z.strictObject({
  model: z.string().min(1).max(200),
  currency: z.string().regex(/^[A-Z]{3}$/u, "write an ISO 4217 code such as USD"),
  // Asked for in words: a price that is off by a million looks like any other number.
  unit: z.enum(["token", "million_tokens"]),
  effectiveFrom: moment,
  effectiveTo: moment.optional(),
  source: z.string().max(500).optional(),
  rates: z.record(z.string(), z.unknown()),
});

/** Names of members that are counts or switches; all other leaves are texts. */
const COUNTS: ReadonlySet<string> = new Set(["aboveTokens", "upToTokens", "weekdays"]);
const SWITCHES: ReadonlySet<string> = new Set(["isInclusive", "reasoningPricesOutput"]);
const PER_TOKEN: ReadonlySet<string> = new Set(TOKEN_RATE_NAMES);

/** Checks every record. Never throws. */
export function readPriceBook(records: readonly PriceBookRecord[]): PriceBookReading {
  if (records.length === 0)
    return { ok: false, problems: [{ line: 0, path: "prices", message: "the book has no rows" }] };
  if (records.length > MAX_ROWS) {
    return { ok: false, problems: [{ line: 0, path: "prices", message: `the book has more than ${MAX_ROWS} rows` }] };
  }
  const problems: PriceBookProblem[] = [];
  const rows: PriceBookRow[] = [];
  const lines = new Map<string, number>();
  for (const record of records) {
    const row = readRow(record, problems);
    if (row === undefined) continue;
    const key = `${row.model} ${row.effectiveFromMs}`;
    const earlier = lines.get(key);
    const line = record.lineOf(["model"]);
    if (earlier !== undefined) {
      const message = `the model has a row from this moment already (line ${earlier})`;
      problems.push({ line, path: `${record.path}.effectiveFrom`, message });
    }
    lines.set(key, line);
    rows.push(row);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rows };
}

function readRow(record: PriceBookRecord, problems: PriceBookProblem[]): PriceBookRow | undefined {
  const before = problems.length;
  const note = (keys: readonly PropertyKey[], message: string): void => {
    problems.push({ line: record.lineOf(keys), path: pathText(record.path, keys), message });
  };
  const head = rowSchema.safeParse(record.value);
  if (!head.success) {
    for (const issue of head.error.issues) note(issue.path, issue.message);
    return undefined;
  }
  const { unit, effectiveFrom, effectiveTo, rates, ...row } = head.data;
  const written = typed(rates, unit === "million_tokens" ? -6 : 0, ["rates"], note);
  const parsed = priceRatesSchema.safeParse(written);
  if (!parsed.success) for (const issue of parsed.error.issues) note(["rates", ...issue.path], issue.message);
  // A name that is not a price is a slip of the pen, and would be a price that nobody charges.
  else for (const keys of lostNames(written, parsed.data)) note(["rates", ...keys], "there is no price of this name");
  const effectiveFromMs = Date.parse(effectiveFrom);
  const effectiveToMs = effectiveTo === undefined ? null : Date.parse(effectiveTo);
  if (effectiveToMs !== null && effectiveToMs <= effectiveFromMs)
    note(["effectiveTo"], "the row ends before it starts");
  if (Object.keys(rates).length === 0) note(["rates"], "the row names no price");
  if (!parsed.success || problems.length > before) return undefined;
  const { model, currency, source = null } = row;
  return { model, currency, rates: parsed.data, effectiveFromMs, effectiveToMs, source };
}

/** Members of `written` that the schema did not know. */
function lostNames(written: unknown, read: unknown): PropertyKey[][] {
  if (typeof written !== "object" || written === null) return [];
  const known = typeof read === "object" && read !== null ? Object.entries(read) : [];
  return Object.entries(written).flatMap(([name, value]) => {
    const entry = known.find(([key]) => key === name);
    if (entry === undefined) return [[name]];
    return lostNames(value, entry[1]).map((keys) => [Array.isArray(written) ? Number(name) : name, ...keys]);
  });
}

type Note = (keys: readonly PropertyKey[], message: string) => void;

/** Texts to counts, switches and rates per token. What is wrong stays as it is and is named by the schema. */
function typed(value: unknown, places: number, keys: readonly PropertyKey[], note: Note): unknown {
  if (Array.isArray(value)) return value.map((one: unknown, index) => typed(one, places, [...keys, index], note));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, typed(one, places, [...keys, name], note)]),
    );
  }
  if (typeof value === "number") {
    note(keys, "a price must reach here as text");
    return value;
  }
  if (typeof value !== "string") return value;
  const text = value.trim();
  const name = keys.findLast((key) => typeof key === "string") ?? "";
  if (COUNTS.has(name)) return /^\d{1,15}$/u.test(text) ? Number(text) : text;
  if (SWITCHES.has(name)) return text === "true" ? true : text === "false" ? false : text;
  return PER_TOKEN.has(name) && /^\d{1,12}(?:\.\d{1,21})?$/u.test(text) ? shiftDecimal(text, places) : text;
}

function pathText(prefix: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : joined(path, String(key))),
    prefix,
  );
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
