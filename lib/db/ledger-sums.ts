/** Sums over the ledger that open budgets in mid-period. Filters are applied here once, never again on rebuild. */
import type { Budget } from "@/lib/domain/entities";
import type { Period } from "@/lib/domain/period";
import type { Meter } from "@/lib/domain/snapshot";
import type { Tx } from "./client";
import { Prisma } from "./generated/client";

type BudgetFilter = Pick<
  Budget,
  | "organisationId"
  | "consumerId"
  | "apiKeyId"
  | "providerId"
  | "deploymentId"
  | "meter"
  | "environment"
  | "models"
  | "classes"
>;

/** What one entry counts for a meter. A correction moves tokens and money; it is no further request, unless it says so. */
const MEASURE: Readonly<Record<Meter, Prisma.Sql>> = {
  cost: Prisma.sql`amount`,
  input_tokens: Prisma.sql`(usage->>'inputTokens')::bigint`,
  output_tokens: Prisma.sql`(usage->>'outputTokens')::bigint`,
  total_tokens: Prisma.sql`(usage->>'inputTokens')::bigint + (usage->>'outputTokens')::bigint`,
  requests: Prisma.sql`COALESCE((usage->>'requests')::bigint, CASE WHEN kind = 'usage' THEN 1 ELSE 0 END)`,
};

/** Sum of what the ledger holds in this period for what the budget would have counted. */
export async function sumLedgerForBudget(tx: Tx, budget: BudgetFilter, period: Period): Promise<bigint> {
  const conditions = [
    Prisma.sql`organisation_id = ${budget.organisationId}`,
    Prisma.sql`reserved_at >= ${new Date(period.startMs)} AND reserved_at < ${new Date(period.endMs)}`,
  ];
  if (budget.consumerId !== null) conditions.push(Prisma.sql`consumer_path @> ARRAY[${budget.consumerId}]`);
  if (budget.apiKeyId !== null) conditions.push(Prisma.sql`api_key_id = ${budget.apiKeyId}`);
  if (budget.providerId !== null) conditions.push(Prisma.sql`provider_id = ${budget.providerId}`);
  if (budget.deploymentId !== null) conditions.push(Prisma.sql`deployment_id = ${budget.deploymentId}`);
  if (budget.environment !== null) conditions.push(Prisma.sql`environment = ${budget.environment}`);
  if (budget.classes.length > 0) conditions.push(Prisma.sql`traffic_class = ANY(${[...budget.classes]})`);
  if (budget.models.length > 0) {
    conditions.push(Prisma.sql`model_served LIKE ANY(${budget.models.map(likePattern)})`);
  }
  const rows = await tx.$queryRaw<{ total: bigint }[]>`
    SELECT COALESCE(SUM(${MEASURE[budget.meter]}), 0)::bigint AS total
    FROM ledger_entries WHERE ${Prisma.join(conditions, " AND ")}`;
  return rows[0]?.total ?? 0n;
}

/** What the lines of booked entries already charge to this budget in this period. */
export async function findBudgetRollup(
  tx: Tx,
  organisationId: string,
  budgetId: string,
  periodId: string,
): Promise<bigint> {
  const row = await tx.budgetRollup.findUnique({
    where: { organisationId_budgetId_periodId: { organisationId, budgetId, periodId } },
    select: { amount: true },
  });
  return row?.amount ?? 0n;
}

/** Our `*` is LIKE's `%`; LIKE's own signs are taken literally. */
function likePattern(pattern: string): string {
  return pattern.replace(/[\\%_]/gu, "\\$&").replaceAll("*", "%");
}
