/** What stands on each budget now: limit and grants, spent and held, the rung in force. One reading for a whole page. */
import type { BudgetView } from "@/lib/contracts/budgets";
import { listGrantsInForce, listLiveBudgets, readBudgetRollups, readEndUserRollups } from "@/lib/db/console-budgets";
import type { BudgetRow, EndUserRollup, GrantRow } from "@/lib/db/console-budgets";
import { groupedBy } from "@/lib/control/grouped";
import { listActivePolicyDocuments } from "@/lib/db/console-consumers";
import type { OrganisationRow } from "@/lib/db/console-consumers";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { UNNAMED_END_USER } from "@/lib/domain/lines";
import { createPeriodCache } from "@/lib/domain/period";
import type { Period } from "@/lib/domain/period";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { Ladder, PolicyDocument } from "@/lib/domain/policy";
import { rungInForce, usedBasisPoints } from "@/lib/domain/rung-in-force";
import type { ConsoleServices } from "@/lib/wiring/console";
import { chainOf } from "./tree";
import type { ConsumerTree } from "./tree";

export interface BudgetStates {
  readonly views: readonly BudgetView[];
  /** Whether Redis answered; false: `spentAmount` is what the ledger has booked and `heldAmount` is unknown. */
  readonly live: boolean;
  /** Ladders by name that the documents of this organisation define. */
  readonly ladders: Readonly<Record<string, Ladder>>;
}

interface Reading {
  readonly nowMs: number;
  readonly grants: readonly GrantRow[];
  readonly booked: ReadonlyMap<string, bigint>;
  /** By budget, who has spent most first. */
  readonly endUsers: ReadonlyMap<string, readonly EndUserRollup[]>;
  readonly ladderOf: (row: BudgetRow) => Ladder | undefined;
}

/** Ladders that a node's chain defines, nearest last; a document that cannot be read counts as empty. */
function laddersByPolicy(documents: readonly { policyId: string; document: unknown }[]): Map<string, PolicyDocument> {
  return new Map(
    documents.flatMap(({ policyId, document }) => {
      const parsed = policyDocumentSchema.safeParse(document);
      return parsed.success ? [[policyId, parsed.data] as const] : [];
    }),
  );
}

const SHOWN_END_USERS = 5;

/** Who has used a budget that counts each end user, from the ledger; null for any other. */
function endUsersOf(row: BudgetRow, period: Period, reading: Reading): BudgetView["endUsers"] {
  if (!row.perEndUser) return null;
  const rows = reading.endUsers.get(row.id) ?? [];
  return {
    count: rows[0]?.count ?? 0,
    top: rows.map(({ periodId, amount }) => {
      const id = periodId.slice(period.id.length + 1);
      const used = usedBasisPoints(amount, row.limitAmount);
      return { id: id === UNNAMED_END_USER ? null : id, spentAmount: amount.toString(), usedBasisPoints: used };
    }),
  };
}

function toView(
  row: BudgetRow,
  period: Period,
  counter: { readonly settled: bigint; readonly held: bigint } | null,
  live: boolean,
  reading: Reading,
): BudgetView {
  const grants = reading.grants.filter((grant) => grant.budgetId === row.id && grant.periodId === period.id);
  const granted = grants.reduce((sum, grant) => sum + grant.amount, 0n);
  const opening = row.openingPeriodId === period.id ? row.openingAmount : 0n;
  const booked = (reading.booked.get(`${row.id} ${period.id}`) ?? 0n) + opening;
  const endUsers = endUsersOf(row, period, reading);
  // Of those who are counted one by one, the nearest to the limit says how the budget stands.
  const spent = endUsers === null ? (counter?.settled ?? booked) : BigInt(endUsers.top[0]?.spentAmount ?? "0");
  const held = counter?.held ?? 0n;
  const limit = row.limitAmount + granted;
  const ladder = reading.ladderOf(row);
  const rung = ladder === undefined ? undefined : rungInForce(ladder, spent + held, limit);
  const { limitAmount, overflowAmount, limitVersion, openingPeriodId: _id, openingAmount: _amount, ...facts } = row;
  return {
    ...facts,
    endUsers,
    models: [...row.models],
    classes: [...row.classes],
    limitAmount: limitAmount.toString(),
    overflowAmount: overflowAmount.toString(),
    version: limitVersion.toString(),
    period,
    grantedAmount: granted.toString(),
    grants: grants.map(({ id, amount, startsAtMs, endsAtMs, reason }) => ({
      id,
      amount: amount.toString(),
      startsAtMs,
      endsAtMs,
      reason,
    })),
    spentAmount: spent.toString(),
    heldAmount: held.toString(),
    source: live ? "live" : "booked",
    usedBasisPoints: usedBasisPoints(spent + held, limit),
    rung: rung === undefined ? null : { name: rung.name, atBasisPoints: rung.atBasisPoints },
    marks: (ladder?.rungs ?? [])
      .filter((step) => step.atBasisPoints > 0)
      .map(({ name, atBasisPoints }) => ({ name, atBasisPoints })),
  };
}

/** Reads every live budget of the organisation with its amounts of the current period. */
export async function readBudgetStates(
  services: ConsoleServices,
  organisation: OrganisationRow,
  tree: ConsumerTree,
  appOfKey: (keyId: string) => string | undefined,
): Promise<BudgetStates> {
  const sql = services.db.pool;
  const nowMs = services.clock.nowMs();
  const periods = createPeriodCache(organisation);
  const [rows, grants, documents] = await Promise.all([
    listLiveBudgets(sql, organisation.id),
    listGrantsInForce(sql, organisation.id, nowMs),
    listActivePolicyDocuments(sql, organisation.id),
  ]);
  const periodOf = rows.map((row) => periods.at(row.periodKind, nowMs));
  const refs = rows.map((row, index) => ({ budgetId: row.id, periodId: periodOf[index]?.id ?? "" }));
  const [booked, perUser, counters] = await Promise.all([
    readBudgetRollups(sql, organisation.id, [...new Set(refs.map((ref) => ref.periodId))]),
    readEndUserRollups(
      sql,
      organisation.id,
      refs.filter((_, index) => rows[index]?.perEndUser === true),
      SHOWN_END_USERS,
    ),
    services.readCounters(organisation.id, refs),
  ]);
  const byPolicy = laddersByPolicy(documents);
  const ladderOf = (row: BudgetRow): Ladder | undefined => {
    if (row.ladder === null) return undefined;
    const node = row.consumerId ?? (row.apiKeyId === null ? undefined : appOfKey(row.apiKeyId));
    const chain = node === undefined ? [] : chainOf(tree, node);
    const named = chain.map((one) => byPolicy.get(one.policyId ?? "")?.ladders?.[row.ladder ?? ""]).findLast(Boolean);
    return named ?? LADDER_TEMPLATES[row.ladder];
  };
  const endUsers = groupedBy(perUser, (one) => one.budgetId);
  const reading: Reading = { nowMs, grants, booked, endUsers, ladderOf };
  const views = rows.flatMap((row, index) => {
    const period = periodOf[index];
    return period === undefined ? [] : [toView(row, period, counters?.[index] ?? null, counters !== null, reading)];
  });
  const ladders: Record<string, Ladder> = { ...LADDER_TEMPLATES };
  for (const document of byPolicy.values()) Object.assign(ladders, document.ladders);
  return { views, live: counters !== null, ladders };
}
