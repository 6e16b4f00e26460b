/**
 * Reconcile: the provider's bill, the ledger and the counters are made to agree, and every run is written down. The bill is
 * right about what was called, the ledger about what was booked, and counters follow the ledger. Idempotent: a second run
 * over the same books adds no correction.
 */
import { hasOpenAlert, insertAlerts } from "@/lib/db/alerts";
import { LOCKS, withAdvisoryLock } from "@/lib/db/advisory-lock";
import { findOrganisation } from "@/lib/db/organisations";
import { insertReconciliation, listBilledProviders } from "@/lib/db/reconciliations";
import { newId } from "@/lib/domain/ids";
import { usageLength } from "@/lib/redis/usage-stream";
import type { Books } from "./books";
import { readAllBooks } from "./books";
import type { BillDeps, BillRules, BillRun } from "./provider-bill";
import { reconcileProvider } from "./provider-bill";
import type { RecoveryDeps } from "./recovery";
import { applyCorrections } from "./settlement";

export type ReconcileDeps = BillDeps & Pick<RecoveryDeps, "publish">;

export interface ReconcileResult {
  readonly corrections: number;
  /** Bill lines that cannot be judged yet. */
  readonly unresolved: number;
  readonly isQuiet: boolean;
  /** Largest difference between any two books, in nanos of the price currency; 0 where they agree. Meaningful when quiet. */
  readonly driftByCurrency: ReadonlyMap<string, bigint>;
  /** Counters of current periods that disagree with the ledger. */
  readonly mismatches: number;
  /** Providers whose bill could not be read. */
  readonly failedProviders: readonly string[];
}

const DEFAULT_RULES: BillRules = { orphanAgeMs: 60_000, estimateAgeMs: 600_000 };
const SHOWN_MISMATCHES = 50;

/** Null where another process is reconciling this organisation, or it does not exist. Throws what Postgres and Redis throw. */
export async function reconcileOrganisation(
  deps: ReconcileDeps,
  organisationId: string,
  rules: Partial<BillRules> = {},
): Promise<ReconcileResult | null> {
  return withAdvisoryLock(deps.db.pool, LOCKS.reconcile, organisationId, () =>
    reconcile(deps, organisationId, { ...DEFAULT_RULES, ...rules }),
  );
}

interface ProviderRun {
  readonly providerId: string;
  readonly run: BillRun;
}

async function reconcile(
  deps: ReconcileDeps,
  organisationId: string,
  rules: BillRules,
): Promise<ReconcileResult | null> {
  const organisation = await findOrganisation(deps.db.prisma, organisationId);
  if (organisation === null) return null;
  await deps.publish(organisationId, { force: true });
  const before = await readAllBooks(deps, organisationId);
  // An event on its way through the stream would find its attempt booked as an orphan, and count twice in the counters.
  const mayBookOrphans = (await usageLength(deps.store.redis, organisationId)) === 0;
  const runs: ProviderRun[] = [];
  const failedProviders: string[] = [];
  for (const provider of await listBilledProviders(deps.db.pool, organisationId)) {
    try {
      const run = await reconcileProvider(deps, organisation, provider, rules, mayBookOrphans);
      runs.push({ providerId: provider.id, run });
    } catch (error) {
      failedProviders.push(provider.id);
      deps.log.warn({ err: error, organisationId, providerId: provider.id }, "a bill could not be reconciled");
    }
  }
  await applyCorrections(deps, organisationId);
  const books = await readAllBooks(deps, organisationId);
  if (books === null) return null;
  const unresolved = runs.reduce((sum, { run }) => sum + run.unresolved, 0);
  // A settlement between the bill and the ledger's sum is in one of them only.
  const isQuiet = books.isQuiet && unresolved === 0 && before?.streamId === books.streamId;
  const driftByCurrency = await writeRuns(deps, organisationId, runs, books, isQuiet && failedProviders.length === 0);
  if (isQuiet) await alertOn(deps, organisationId, driftByCurrency, books);
  return {
    corrections: runs.reduce((sum, { run }) => sum + run.corrections, 0),
    unresolved,
    isQuiet,
    driftByCurrency,
    mismatches: books.isQuiet ? books.mismatches.length : 0,
    failedProviders,
  };
}

/** A row a provider, which carries how far its bill was read, and a row a currency with the three sums. */
async function writeRuns(
  deps: ReconcileDeps,
  organisationId: string,
  runs: readonly ProviderRun[],
  books: Books,
  isComparable: boolean,
): Promise<Map<string, bigint>> {
  const drifts = new Map<string, bigint>();
  const ledgerOf = (match: (row: Books["ledger"][number]) => boolean) =>
    books.ledger.filter(match).reduce((sum, row) => sum + row.amount, 0n);
  const rowId = () => newId("rec", deps.clock.nowMs());
  for (const { providerId, run } of runs) {
    const ledgerAmount = ledgerOf((row) => row.providerId === providerId && row.currency === run.currency);
    const detail = { ...run.next, unresolved: run.unresolved, mismatched: run.mismatched, isQuiet: isComparable };
    await insertReconciliation(deps.db.pool, {
      id: rowId(),
      organisationId,
      providerId,
      currency: run.currency,
      billAmount: run.billed,
      ledgerAmount,
      counterAmount: null,
      corrections: run.corrections,
      detail,
    });
    if (isComparable) noteDrift(drifts, run.currency, run.billed - ledgerAmount);
  }
  const currencies = new Set([...books.ledger.map((row) => row.currency), ...books.counterOfDays.keys()]);
  for (const currency of currencies) {
    const billed = runs.filter(({ run }) => run.currency === currency);
    const ofDays = books.ledgerOfDays.get(currency) ?? 0n;
    const counterAmount = books.counterOfDays.get(currency) ?? 0n;
    if (isComparable) noteDrift(drifts, currency, ofDays - counterAmount);
    await insertReconciliation(deps.db.pool, {
      id: rowId(),
      organisationId,
      providerId: null,
      currency,
      billAmount: billed.length === 0 ? null : billed.reduce((sum, { run }) => sum + run.billed, 0n),
      ledgerAmount: ledgerOf((row) => row.currency === currency),
      counterAmount,
      corrections: billed.reduce((sum, { run }) => sum + run.corrections, 0),
      detail: {
        isQuiet: isComparable,
        drift: (drifts.get(currency) ?? 0n).toString(),
        ledgerOfDays: ofDays.toString(),
        mismatches: books.mismatches.slice(0, SHOWN_MISMATCHES),
      },
    });
  }
  return drifts;
}

function noteDrift(drifts: Map<string, bigint>, currency: string, difference: bigint): void {
  const drift = difference < 0n ? -difference : difference;
  const known = drifts.get(currency) ?? 0n;
  drifts.set(currency, drift > known ? drift : known);
}

async function alertOn(
  deps: ReconcileDeps,
  organisationId: string,
  drifts: ReadonlyMap<string, bigint>,
  books: Books,
): Promise<void> {
  const findings: { subject: string; detail: Record<string, unknown> }[] = [];
  for (const [currency, drift] of drifts) {
    if (drift !== 0n) findings.push({ subject: currency, detail: { drift: drift.toString() } });
  }
  if (books.mismatches.length > 0) {
    findings.push({ subject: "counters", detail: { mismatches: books.mismatches.slice(0, SHOWN_MISMATCHES) } });
  }
  for (const { subject, detail } of findings) {
    if (await hasOpenAlert(deps.db.pool, organisationId, "drift", subject)) continue;
    await insertAlerts(deps.db.pool, [
      {
        id: newId("alr", deps.clock.nowMs()),
        organisationId,
        budgetId: null,
        periodId: null,
        threshold: null,
        kind: "drift",
        detail: { subject, ...detail },
      },
    ]);
  }
}
