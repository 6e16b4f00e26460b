/** From ledger rows to what a person reads: the decision, the arithmetic, the lines. Pure. */
import { z } from "zod";
import type { DecisionExplanation, RequestAttempt, RequestDetail } from "@/lib/contracts/requests";
import type { DeferredCallRow, LedgerRow, RefusalRow } from "@/lib/db/console-requests";
import { DEFERRED_STATES, isDeferredId } from "@/lib/domain/deferred-call";
import { chargedLine, costComponent, tokenUsage } from "@/lib/domain/usage-event";

/** What ids in the books are called; what is gone is missing. */
export interface Names {
  readonly budgets: ReadonlyMap<
    string,
    { readonly name: string; readonly consumerName: string | null; readonly meter: string }
  >;
  /** Of providers and deployments. */
  readonly targets: ReadonlyMap<string, string>;
}

const componentsSchema = z.array(costComponent.extend({ kind: z.string() }));
const linesSchema = z.array(chargedLine);
const NANO_DIGITS = 9;

/**
 * quantity x rate x multiplier as decimal text of nanos, exact: `rate` is decimal text of currency units per piece.
 * Undefined for factors that are no plain decimals.
 */
export function componentNanos(quantity: number, rate: string, multiplier = "1"): string | undefined {
  let product = 1n;
  let shift = NANO_DIGITS;
  for (const text of [String(quantity), rate, multiplier]) {
    const match = /^(\d{1,20})(?:\.(\d{1,30}))?$/u.exec(text);
    if (match === null) return undefined;
    const fraction = match[2] ?? "";
    product *= BigInt(`${match[1] ?? "0"}${fraction}`);
    shift -= fraction.length;
  }
  if (shift >= 0) return (product * 10n ** BigInt(shift)).toString();
  const unit = 10n ** BigInt(-shift);
  const rest = (product % unit).toString().padStart(-shift, "0").replace(/0+$/u, "");
  return rest === "" ? (product / unit).toString() : `${(product / unit).toString()}.${rest}`;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function textOf(source: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = source[name];
  return typeof value === "string" && value !== "" ? value : null;
}

function textsOf(source: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = source[name];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function numberOf(source: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = source[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function amountOf(source: Readonly<Record<string, unknown>>, name: string): string | null {
  const text = textOf(source, name);
  return text !== null && /^-?\d{1,19}$/u.test(text) ? text : null;
}

/**
 * Reads what the gateway wrote: with a settled call `plan, rungBasisPoints, rungName, ratioBasisPoints, budgetId, ladder,
 * settled, held, limit, ignoredClass, failure, spentTargets`, with a refusal the same but plan, ladder and ignoredClass. null when it wrote nothing that can be told. `budgetId`: known from elsewhere.
 */
export function toExplanation(
  value: unknown,
  names: Names,
  budgetId: string | null = null,
): DecisionExplanation | null {
  const source = record(value);
  const id = textOf(source, "budgetId") ?? budgetId;
  const known = id === null ? undefined : names.budgets.get(id);
  const explanation: DecisionExplanation = {
    budgetId: id,
    budgetName: known?.name ?? null,
    consumerName: known?.consumerName ?? null,
    meter: known?.meter ?? null,
    ladder: textOf(source, "ladder"),
    rungName: textOf(source, "rungName"),
    rungBasisPoints: numberOf(source, "rungBasisPoints"),
    ratioBasisPoints: numberOf(source, "ratioBasisPoints"),
    settledAmount: amountOf(source, "settled"),
    heldAmount: amountOf(source, "held"),
    limitAmount: amountOf(source, "limit"),
    ignoredClass: textOf(source, "ignoredClass"),
    failure: textOf(source, "failure"),
    spentTargets: textsOf(source, "spentTargets").map((target) => names.targets.get(target) ?? target),
  };
  const isEmpty = (entry: unknown): boolean => entry === null || (Array.isArray(entry) && entry.length === 0);
  return Object.values(explanation).every(isEmpty) ? null : explanation;
}

export function toAttempt(row: LedgerRow, names: Names): RequestAttempt {
  const components = componentsSchema.safeParse(row.components);
  const lines = linesSchema.safeParse(row.lines);
  const usage = tokenUsage.partial().safeParse(row.usage);
  return {
    attempt: row.attempt,
    sequence: row.sequence,
    kind: row.kind,
    atMs: row.reservedAt.getTime(),
    settledAtMs: row.settledAt.getTime(),
    bookedAtMs: row.bookedAt.getTime(),
    modelServed: row.modelServed,
    provider: row.provider,
    decision: row.decision,
    rungBasisPoints: row.rung,
    outcome: row.outcome,
    isEstimated: row.isEstimated,
    isStream: row.isStream,
    isOverflow: row.isOverflow,
    usage: usage.success ? usage.data : {},
    components: (components.success ? components.data : []).map((one) => ({
      ...one,
      costNanos: componentNanos(one.quantity, one.rate, one.multiplier) ?? "",
    })),
    priceCurrency: row.priceCurrency,
    priceAmount: row.priceAmount,
    fxRate: row.fxRate,
    amount: row.amount,
    savedAmount: row.savedAmount,
    heldAmount: row.heldAmount,
    overageAmount: row.overageAmount,
    lines: (lines.success ? lines.data : []).map((line) => ({
      ...line,
      budgetName: names.budgets.get(line.b)?.name ?? null,
      consumerName: names.budgets.get(line.b)?.consumerName ?? null,
    })),
    latencyMs: row.latencyMs,
    firstByteMs: row.firstByteMs,
    statusCode: row.statusCode,
    explanation: toExplanation(row.explanation, names),
  };
}

/** `deferral`: how the call stands that this note says was taken for later. */
export function toRefusal(
  row: RefusalRow,
  names: Names,
  deferral: DeferredCallRow | undefined,
): NonNullable<RequestDetail["refusal"]> {
  const source = record(row.explanation);
  const deferredId = deferredIdOf(row);
  return {
    atMs: row.refusedAt.getTime(),
    code: row.code,
    statusCode: row.statusCode,
    explanation: toExplanation(row.explanation, names, row.budgetId),
    detail: textOf(source, "detail"),
    replayedRequestId: row.code === "replayed" ? textOf(source, "requestId") : null,
    deferral:
      deferredId === null
        ? null
        : {
            id: deferredId,
            state: DEFERRED_STATES.find((one) => one === deferral?.state) ?? null,
            tries: deferral?.tries ?? 0,
            deadlineMs: deferral?.deadlineAt.getTime() ?? null,
            endedMs: deferral?.endedAt?.getTime() ?? null,
            runRequestId: deferral?.runRequestId ?? null,
          },
  };
}

/** As the caller named it; null where it named none. */
export function sessionOf(explanation: unknown): string | null {
  return textOf(record(explanation), "session");
}

/** The id under which the call was taken for later; null where it was not. */
export function deferredIdOf(row: Pick<RefusalRow, "code" | "explanation">): string | null {
  const id = textOf(record(row.explanation), "deferredId");
  return row.code === "deferred" && id !== null && isDeferredId(id) ? id : null;
}
