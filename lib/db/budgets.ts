/** Budgets, quotas and their grants. */
import type { Budget, Grant } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  consumerId: true,
  apiKeyId: true,
  providerId: true,
  deploymentId: true,
  name: true,
  meter: true,
  periodKind: true,
  limitAmount: true,
  overflowAmount: true,
  enforcement: true,
  ladder: true,
  environment: true,
  models: true,
  classes: true,
  perEndUser: true,
  frozenAt: true,
  archivedAt: true,
  limitVersion: true,
  openingPeriodId: true,
  openingAmount: true,
} satisfies Prisma.BudgetSelect;
const grantSelect = {
  id: true,
  organisationId: true,
  budgetId: true,
  periodId: true,
  amount: true,
  startsAt: true,
  endsAt: true,
  kind: true,
  reason: true,
  approvalId: true,
  revokedAt: true,
  createdById: true,
} satisfies Prisma.GrantSelect;

export async function findBudget(tx: Tx, organisationId: string, id: string): Promise<Budget | null> {
  return tx.budget.findFirst({ where: { id, organisationId }, select });
}

/** All budgets of the organisation, archived ones included, oldest first. */
export async function listBudgets(tx: Tx, organisationId: string): Promise<Budget[]> {
  return tx.budget.findMany({ where: { organisationId }, select, orderBy: [{ createdAt: "asc" }, { id: "asc" }] });
}

export async function listBudgetsById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<Budget[]> {
  return tx.budget.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

export async function insertBudget(
  tx: Tx,
  row: Omit<Budget, "frozenAt" | "archivedAt" | "limitVersion"> & { readonly createdById: string | null },
): Promise<Budget> {
  return tx.budget.create({ data: { ...row, models: [...row.models], classes: [...row.classes] }, select });
}

export type BudgetChanges = Partial<
  Omit<
    Budget,
    | "id"
    | "organisationId"
    | "consumerId"
    | "apiKeyId"
    | "providerId"
    | "deploymentId"
    | "limitVersion"
    | "meter"
    | "perEndUser"
  >
>;

/** Changes a budget and raises its version. The caller holds the organisation's lock and has compared the version. */
export async function updateBudget(tx: Tx, id: string, changes: BudgetChanges): Promise<Budget> {
  const { models, classes, ...rest } = changes;
  return tx.budget.update({
    where: { id },
    data: {
      ...rest,
      ...(models === undefined ? {} : { models: [...models] }),
      ...(classes === undefined ? {} : { classes: [...classes] }),
      limitVersion: { increment: 1n },
    },
    select,
  });
}

export async function insertGrant(tx: Tx, row: Omit<Grant, "revokedAt">): Promise<Grant> {
  return tx.grant.create({ data: row, select: grantSelect });
}

export async function findGrant(tx: Tx, organisationId: string, id: string): Promise<Grant | null> {
  return tx.grant.findFirst({ where: { id, organisationId }, select: grantSelect });
}

export async function updateGrant(tx: Tx, id: string, changes: Pick<Grant, "revokedAt">): Promise<Grant> {
  return tx.grant.update({ where: { id }, data: changes, select: grantSelect });
}

/** Grants of these budgets that were not revoked and end after `from`, earliest first. */
export async function listOpenGrants(tx: Tx, budgetIds: readonly string[], from: Date): Promise<Grant[]> {
  return tx.grant.findMany({
    where: { budgetId: { in: [...budgetIds] }, revokedAt: null, endsAt: { gt: from } },
    select: grantSelect,
    orderBy: [{ startsAt: "asc" }, { id: "asc" }],
  });
}
