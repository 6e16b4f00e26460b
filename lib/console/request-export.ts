/** The request log as a CSV file: the rows of the page's own filters, newest first, one piece at a time. */
import { EXPORT_MAX_ROWS } from "@/lib/contracts/requests";
import type { RequestListQuery, RequestRow } from "@/lib/contracts/requests";
import { csvLine, CSV_START } from "@/lib/domain/csv";
import type { CsvCell } from "@/lib/domain/csv";
import { nanosToDecimal } from "@/lib/domain/money";
import type { ConsoleServices } from "@/lib/wiring/console";
import type { ConsolePrincipal } from "./principal";
import { readRequests } from "./requests";

const PIECE_ROWS = 1_000;

/** In the order of the file. The reader's language names them; decisions and outcomes stay codes, which do not change. */
export const EXPORT_COLUMNS = [
  "time",
  "timeUtc",
  "requestId",
  "attempt",
  "app",
  "key",
  "environment",
  "class",
  "modelAsked",
  "modelServed",
  "decision",
  "outcome",
  "inputTokens",
  "outputTokens",
  "currency",
  "cost",
  "saved",
  "latencyMs",
  "status",
  "estimated",
] as const;
export type ExportColumn = (typeof EXPORT_COLUMNS)[number];

/** "2026-11-30 12:38:49" on the clocks of the zone: ISO order, which spreadsheets of every language read as a time. */
function localTime(ms: number, format: Intl.DateTimeFormat): string {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? "";
  return `${part("year")}-${part("month")}-${part("day")} ${part("hour")}:${part("minute")}:${part("second")}`;
}

function number(value: number | null): CsvCell {
  return value === null ? null : { decimal: String(value) };
}

function money(nanos: string | null): CsvCell {
  return nanos === null ? null : { decimal: nanosToDecimal(BigInt(nanos)) };
}

function cellsOf(row: RequestRow, currency: string, format: Intl.DateTimeFormat): Record<ExportColumn, CsvCell> {
  return {
    time: localTime(row.atMs, format),
    timeUtc: new Date(row.atMs).toISOString(),
    requestId: row.requestId,
    attempt: number(row.attempt + 1),
    app: row.appName,
    key: row.keyName,
    environment: row.environment,
    class: row.trafficClass,
    modelAsked: row.modelRequested,
    modelServed: row.modelServed,
    decision: row.decision,
    outcome: row.outcome,
    inputTokens: number(row.inputTokens),
    outputTokens: number(row.outputTokens),
    currency,
    cost: money(row.amount),
    saved: money(row.savedAmount),
    latencyMs: number(row.latencyMs),
    status: number(row.statusCode),
    estimated: row.isEstimated ? "true" : "false",
  };
}

/** Of the apps where the person may export. Exact amounts in the organisation's currency; an unknown amount is an empty cell. At most `EXPORT_MAX_ROWS` rows. */
export async function* exportRequests(
  services: ConsoleServices,
  who: ConsolePrincipal,
  query: RequestListQuery,
  nameOf: (column: ExportColumn) => string,
): AsyncGenerator<string> {
  const { currency, timeZone } = who.organisation;
  const digits = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hourCycle: "h23", ...digits, second: "2-digit" });
  let piece = CSV_START + csvLine(EXPORT_COLUMNS.map(nameOf));
  let after = "";
  for (let written = 0; written < EXPORT_MAX_ROWS; written += PIECE_ROWS) {
    const page = await readRequests(services, who, { ...query, after }, { limit: PIECE_ROWS, action: "export.create" });
    for (const row of page.rows) {
      const cells = cellsOf(row, currency, format);
      piece += csvLine(EXPORT_COLUMNS.map((column) => cells[column]));
    }
    yield piece;
    piece = "";
    if (page.next === null) return;
    after = page.next;
  }
}
