/**
 * Exchange rates from a CSV file with the columns base, quote, rate, effectiveFrom and, if wanted, source: 1 base is `rate` quote
 * from that moment on. Taken whole or not at all.
 */
import { CsvError, parse as parseCsv } from "csv-parse/sync";
import { z } from "zod";
import { decimalText } from "@/lib/contracts/models";
import { currencyText } from "@/lib/contracts/organisations";
import { applyFxImportInput, previewFxImportInput } from "@/lib/contracts/price-imports";
import type { ApplyFxImportInput, FxImportPreview, PreviewFxImportInput } from "@/lib/contracts/price-imports";
import type { Tx } from "@/lib/db/client";
import { insertPriceImport } from "@/lib/db/price-imports";
import { insertFxRates, listFxRates } from "@/lib/db/prices";
import type { FxRate } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { scaleRate } from "@/lib/pricing/decimal";
import type { PriceBookProblem } from "@/lib/pricing/price-book";
import { changeOrganisation, notFound } from "./change";
import type { ControlDeps } from "./deps";
import { groupedBy } from "./grouped";
import { brokenFile, requireConfirmed, sha256 } from "./import-text";
import type { PriceImportResult } from "./price-imports";
import { parseInput } from "./validate";

const MAX_ROWS = 20_000;
/** Rates of exchange do not move tenfold; a pair typed the wrong way round does. */
const SUSPICIOUS = 10n;

const fxRow = z.strictObject({
  base: currencyText,
  quote: currencyText,
  rate: decimalText.refine((text) => /[1-9]/u.test(text), "amount_not_positive"),
  effectiveFrom: z.union([z.iso.date(), z.iso.datetime({ offset: true })], "write a moment such as 2026-12-01 (UTC)"),
  source: z.string().trim().max(200).default(""),
});

interface FxLine {
  readonly base: string;
  readonly quote: string;
  readonly rate: string;
  readonly source: string;
  readonly fromMs: number;
  readonly line: number;
}

interface FxPlan {
  readonly rows: readonly FxLine[];
  readonly preview: FxImportPreview;
}

/** What the file would change. `invalid_request` names every mistake in it. */
export async function previewFxImport(
  deps: ControlDeps,
  principal: Principal,
  input: PreviewFxImportInput & { readonly organisationId: string },
): Promise<FxImportPreview> {
  const { organisationId, ...rest } = input;
  if (!may(principal, "price.write", organisationScope(organisationId))) throw notFound();
  const { text, source } = parseInput(previewFxImportInput, rest);
  return (await plan(deps.db.prisma, organisationId, text, source)).preview;
}

/** Adds the rates. Refusals as for a price book (`applyPriceImport`). */
export async function applyFxImport(
  deps: ControlDeps,
  principal: Principal,
  input: ApplyFxImportInput & { readonly organisationId: string },
): Promise<PriceImportResult> {
  const { organisationId, ...rest } = input;
  const { digest, confirmed, text, source } = parseInput(applyFxImportInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("price.write");
    const { rows, preview } = await plan(change.tx, organisationId, text, source);
    if (preview.digest !== digest) throw new AppError("conflict", "The rates are not those that were looked at");
    if (rows.length === 0) throw new AppError("conflict", "The file changes nothing");
    requireConfirmed(
      preview.changes.flatMap((row) => (row.needsConfirmation ? row.name : [])),
      confirmed,
    );
    const priceImport = await insertPriceImport(change.tx, {
      ...{ id: newId("pim", change.nowMs), organisationId, book: "fx", format: "csv", source, textHash: sha256(text) },
      ...{ rowCount: rows.length, createdAt: change.now, createdById: principal.userId },
    });
    await insertFxRates(
      change.tx,
      rows.map(({ fromMs, line: _line, ...row }) => ({
        ...row,
        ...{ id: newId("fx", change.nowMs), organisationId, importId: priceImport.id, createdById: principal.userId },
        effectiveFrom: new Date(fromMs),
      })),
    );
    change.touch("fx", organisationId);
    const about = { action: "fx.import", objectType: "price_import", objectId: priceImport.id };
    const auditId = await change.audit({ ...about, after: { ...priceImport, changes: preview.changes } });
    return { priceImport, auditId };
  });
}

async function plan(tx: Tx, organisationId: string, text: string, source: string): Promise<FxPlan> {
  const lines = readFxBook(text, source);
  const booked = await listFxRates(tx, organisationId);
  const byPair = groupedBy(booked, pairOf);
  const problems: PriceBookProblem[] = [];
  const rows: FxLine[] = [];
  const changes: FxImportPreview["changes"] = [];
  for (const line of lines.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const pair = byPair.get(pairOf(line)) ?? [];
    const same = pair.find((row) => row.effectiveFrom.getTime() === line.fromMs);
    if (same !== undefined) {
      if (scaleRate(same.rate) === scaleRate(line.rate)) continue;
      problems.push({ line: line.line, path: "effectiveFrom", message: "the pair has another rate from this moment" });
      continue;
    }
    const before = lastBefore(pair, rows, line);
    rows.push(line);
    const { base, quote, rate, fromMs } = line;
    const name = `${base}/${quote} ${new Date(fromMs).toISOString()}`;
    const needsConfirmation = before !== null && isSuspicious(before, rate);
    changes.push({ name, base, quote, rate, before, effectiveFromMs: fromMs, needsConfirmation });
  }
  if (problems.length > 0) throw brokenFile(problems);
  const digest = sha256([sha256(text), source, changes]);
  return { rows, preview: { digest, changes, unchanged: lines.length - rows.length } };
}

function pairOf({ base, quote }: { readonly base: string; readonly quote: string }): string {
  return `${base}/${quote}`;
}

/** The rate that holds just before the line, booked or of this file. */
function lastBefore(booked: readonly FxRate[], planned: readonly FxLine[], line: FxLine): string | null {
  const old = booked.findLast((row) => row.effectiveFrom.getTime() < line.fromMs);
  const fresh = planned.findLast((row) => pairOf(row) === pairOf(line));
  if (fresh !== undefined && (old === undefined || fresh.fromMs > old.effectiveFrom.getTime())) return fresh.rate;
  return old?.rate ?? null;
}

function isSuspicious(before: string, after: string): boolean {
  const [was, is] = [scaleRate(before), scaleRate(after)];
  return is > was * SUSPICIOUS || was > is * SUSPICIOUS;
}

function readFxBook(text: string, source: string): FxLine[] {
  const records = csvRecords(text);
  if (records.length === 0) throw brokenFile([{ line: 0, path: "", message: "the file has no rows" }]);
  if (records.length > MAX_ROWS) throw brokenFile([{ line: 0, path: "", message: "the file has too many rows" }]);
  const problems: PriceBookProblem[] = [];
  const seen = new Set<string>();
  const lines: FxLine[] = [];
  for (const { record, info } of records) {
    const line = info.lines;
    const note = (path: string, message: string): void => void problems.push({ line, path, message });
    const row = fxRow.safeParse(record);
    if (!row.success) {
      for (const issue of row.error.issues) note(issue.path.map(String).join("."), issue.message);
      continue;
    }
    const fromMs = Date.parse(row.data.effectiveFrom);
    if (row.data.base === row.data.quote) note("quote", "same_currency");
    const key = `${pairOf(row.data)} ${fromMs}`;
    if (seen.has(key)) note("effectiveFrom", "the pair has a row from this moment already");
    seen.add(key);
    const { base, quote, rate, source: own } = row.data;
    lines.push({ base, quote, rate, source: own === "" ? source : own, fromMs, line });
  }
  if (problems.length > 0) throw brokenFile(problems);
  return lines;
}

interface CsvRecord {
  readonly record: Readonly<Record<string, string>>;
  readonly info: { readonly lines: number };
}

function csvRecords(text: string): readonly CsvRecord[] {
  try {
    const options = { bom: true, trim: true, skip_empty_lines: true, info: true, columns: true } as const;
    return parseCsv(text, options) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === "number" ? error.lines : 0;
    throw brokenFile([{ line, path: "", message: (error.message.split("\n")[0] ?? "").slice(0, 200) }]);
  }
}
