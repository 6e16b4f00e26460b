/** Lines of CSV (RFC 4180) as spreadsheets read them. Pure. */

/** Without it Excel takes UTF-8 for the code page of the machine, and Chinese for rubbish. */
export const CSV_START = "\uFEFF";

/** Text; a number as decimal text; or nothing, which is an empty cell and never 0. */
export type CsvCell = string | { readonly decimal: string } | null;

/** What a spreadsheet would run as a formula (OWASP: CSV injection). */
const FORMULA_START = /^[=+\-@\t\r]/u;

function textOf(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return cell.decimal;
  const harmless = FORMULA_START.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/u.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** One line with its end. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(textOf).join(",")}\r\n`;
}
