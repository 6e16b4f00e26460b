/**
 * Price books as text: YAML and CSV to the records that `lib/pricing/price-book.ts` checks. Every scalar stays text, since
 * a price must not pass through a double.
 *
 * YAML: `prices:` with a list of `{ model, currency, unit, effectiveFrom, effectiveTo?, source?, rates }`.
 * CSV: the same names as columns; every other column is a path into `rates` ("inputPerToken", "services.flex.outputPerToken",
 * "longContext.steps.0.aboveTokens"), and an empty cell says nothing.
 */
import { CsvError, parse as parseCsv } from "csv-parse/sync";
import { isNode, LineCounter, parseDocument } from "yaml";
import type { PriceBookReading, PriceBookRecord } from "@/lib/pricing/price-book";
import { readPriceBook } from "@/lib/pricing/price-book";

/** Far more than any real book, and little enough to check at once. */
const MAX_TEXT = 16 * 1024 * 1024;
const HEAD = new Set(["model", "currency", "unit", "effectiveFrom", "effectiveTo", "source"]);
const MAX_INDEX = 1000;

/** Reads a book in YAML. Never throws: what is wrong comes back with its line and path. */
export function readYamlPriceBook(text: string): PriceBookReading {
  if (text.length > MAX_TEXT) return refuse(0, "", "the file is too large");
  const lines = new LineCounter();
  // The failsafe schema leaves every scalar as it is written.
  const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken) return refuse(broken.linePos?.[0].line ?? 0, "", firstLine(broken.message));
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: 100 });
  } catch {
    return refuse(0, "", "the file has too many references");
  }
  const prices =
    typeof content === "object" && content !== null ? (content as Record<string, unknown>).prices : undefined;
  if (!Array.isArray(prices)) return refuse(1, "prices", "the file needs a list named prices");
  const lineOf = (path: readonly unknown[]): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 0;
  };
  return readPriceBook(
    prices.map((value: unknown, index) => ({
      value,
      path: `prices[${index}]`,
      lineOf: (keys) => lineOf(["prices", index, ...keys]),
    })),
  );
}

/** Reads a book in CSV (RFC 4180, first line the names). Never throws. */
export function readCsvPriceBook(text: string): PriceBookReading {
  if (text.length > MAX_TEXT) return refuse(0, "", "the file is too large");
  let rows: { record: string[]; info: { lines: number } }[];
  try {
    rows = parseCsv(text, { bom: true, trim: true, skip_empty_lines: true, info: true }) as unknown as typeof rows;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return refuse(typeof error.lines === "number" ? error.lines : 0, "", firstLine(error.message));
  }
  const names = rows[0]?.record ?? [];
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) return refuse(1, double, "two columns have this name");
  const bad = names.find((name) => !HEAD.has(name) && !isPath(name));
  if (bad !== undefined) return refuse(1, bad, "this is no name of a column");
  return readPriceBook(rows.slice(1).map(({ record, info }) => csvRecord(names, record, info.lines)));
}

function csvRecord(names: readonly string[], cells: readonly string[], line: number): PriceBookRecord {
  const rates: Record<string, unknown> = {};
  const value: Record<string, unknown> = { rates };
  names.forEach((name, index) => {
    const cell = cells[index] ?? "";
    if (cell === "") return;
    if (HEAD.has(name)) value[name] = cell;
    else setPath(rates, name.split("."), cell);
  });
  return { value, path: "", lineOf: () => line };
}

/** Names and indexes with points between; nothing that could reach a prototype. */
function isPath(name: string): boolean {
  return name.split(".").every((part, index) => {
    if (/^\d{1,4}$/u.test(part)) return index > 0 && Number(part) < MAX_INDEX;
    return /^[a-zA-Z][\w-]*$/u.test(part) && part !== "constructor" && part !== "prototype";
  });
}

/** Puts a cell at its place; a number after a name makes that name a list. */
function setPath(target: Record<string, unknown>, path: readonly string[], cell: string): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    target[name] = cell;
    return;
  }
  const isList = /^\d+$/u.test(rest[0] ?? "");
  const known = target[name];
  const child = typeof known === "object" && known !== null ? known : isList ? [] : {};
  target[name] = child;
  setPath(child as Record<string, unknown>, rest, cell);
}

function refuse(line: number, path: string, message: string): PriceBookReading {
  return { ok: false, problems: [{ line, path, message }] };
}

function firstLine(message: string): string {
  return (message.split("\n")[0] ?? message).slice(0, 200);
}
