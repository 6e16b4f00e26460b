/** Children may be promised more than their parent has (not all will use theirs), but whoever sets it must be told. */
import { listBudgets } from "@/lib/db/budgets";
import { listConsumers } from "@/lib/db/consumers";
import type { Budget } from "@/lib/domain/entities";
import type { Change } from "./change";

export interface OverAllocation {
  /** The node whose limit is smaller than what stands below it. */
  readonly consumerId: string;
  readonly budgetId: string;
  readonly limitAmount: bigint;
  /** Sum of the limits at the node's direct children. */
  readonly childrenAmount: bigint;
}

/** Nodes around this budget whose direct children are promised more: its parent, and the node itself. */
export async function listOverAllocations(change: Change, budget: Budget): Promise<OverAllocation[]> {
  if (budget.consumerId === null || !isPlain(budget)) return [];
  const comparable = (await listBudgets(change.tx, budget.organisationId)).filter(
    (other) => isPlain(other) && other.meter === budget.meter && other.periodKind === budget.periodKind,
  );
  const consumers = await listConsumers(change.tx, budget.organisationId);
  const parentId = consumers.find((one) => one.id === budget.consumerId)?.parentId ?? null;
  const nodes = [budget.consumerId, ...(parentId === null ? [] : [parentId])];
  return nodes.flatMap((node) => {
    const own = comparable.find((other) => other.consumerId === node);
    if (own === undefined) return [];
    const children = new Set(consumers.filter((one) => one.parentId === node).map((one) => one.id));
    const childrenAmount = comparable
      .filter((other) => other.consumerId !== null && children.has(other.consumerId))
      .reduce((sum, other) => sum + other.limitAmount, 0n);
    if (childrenAmount <= own.limitAmount) return [];
    return [{ consumerId: node, budgetId: own.id, limitAmount: own.limitAmount, childrenAmount }];
  });
}

/** Budgets with filters count a part only, and those of end users each their own, so their limits cannot be added up. */
function isPlain(budget: Budget): boolean {
  return (
    budget.archivedAt === null &&
    budget.consumerId !== null &&
    budget.environment === null &&
    budget.models.length === 0 &&
    budget.classes.length === 0 &&
    !budget.perEndUser
  );
}
