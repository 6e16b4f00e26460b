/** Budgets and quotas: made, changed, frozen and put away. Amounts are decimal integer texts (nanos, or a count). */
import { createBudgetInput, updateBudgetInput } from "@/lib/contracts/budgets";
import type { CreateBudgetInput, UpdateBudgetInput } from "@/lib/contracts/budgets";
import { findApiKey } from "@/lib/db/api-keys";
import { findBudget, insertBudget, updateBudget as updateRow } from "@/lib/db/budgets";
import type { BudgetChanges } from "@/lib/db/budgets";
import { findConsumer } from "@/lib/db/consumers";
import { findDeployment } from "@/lib/db/models";
import { findProvider } from "@/lib/db/providers";
import type { Budget } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { MAX_AMOUNT } from "@/lib/domain/money";
import type { Action, Principal } from "@/lib/domain/role";
import { openingFor } from "./budget-opening";
import { listOverAllocations } from "./budget-allocation";
import type { OverAllocation } from "./budget-allocation";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { definedOnly, invalidFields, parseInput } from "./validate";

export interface BudgetRef {
  readonly organisationId: string;
  readonly budgetId: string;
}

export interface BudgetResult {
  readonly budget: Budget;
  /** Names the change; `undoChange` takes it back. */
  readonly auditId: string;
  /** The budget as it was; null for a new one. */
  readonly previous: Budget | null;
  /** Allowed, but said: children promise more than the parent has. */
  readonly overAllocations: readonly OverAllocation[];
}

type BudgetOwner = "consumerId" | "apiKeyId" | "providerId" | "deploymentId";

/** Where a budget hangs, as a node of the tree: its consumer, the app of its key; providers are the whole organisation's. */
export async function nodeOfBudget(
  { tx }: Change,
  { organisationId, consumerId, apiKeyId, providerId, deploymentId }: Pick<Budget, "organisationId" | BudgetOwner>,
): Promise<string> {
  if (consumerId !== null) return consumerId;
  if (apiKeyId !== null) return found(await findApiKey(tx, organisationId, apiKeyId)).appId;
  if (providerId !== null) found(await findProvider(tx, organisationId, providerId));
  else found(await findDeployment(tx, organisationId, deploymentId ?? ""));
  return organisationId;
}

/** Adds a budget. In mid-period it opens with what the ledger already holds for it. */
export async function createBudget(
  deps: ControlDeps,
  principal: Principal,
  input: CreateBudgetInput & { readonly organisationId: string },
): Promise<BudgetResult> {
  const { organisationId, ...rest } = input;
  const values = parseInput(createBudgetInput, rest);
  const amounts = parseAmounts(values.limitAmount, values.overflowAmount);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const { providerId = null, deploymentId = null, perEndUser = false } = values;
    const owned = { ...values, providerId, deploymentId, organisationId };
    const node = await nodeOfBudget(change, owned);
    await change.require("budget.write", node);
    const consumer = found(await findConsumer(change.tx, organisationId, node));
    if (consumer.archivedAt !== null) throw invalidFields({ consumerId: "archived" });
    const draft = { ...owned, ...amounts, perEndUser, id: newId("bud", change.nowMs) };
    const opening = await openingFor(change, draft);
    const budget = await insertBudget(change.tx, { ...draft, ...opening, createdById: principal.userId });
    change.touch("budget", budget.id);
    const auditId = await change.audit({ ...about("create", budget), after: budget });
    return { budget, auditId, previous: null, overAllocations: await listOverAllocations(change, budget) };
  });
}

/**
 * Changes a budget; absent fields stay. `conflict` when it is no longer at the version the editor saw. Other filters or
 * another period open the current period's counter anew with what the ledger holds; calls in flight keep their lines.
 */
export async function updateBudget(
  deps: ControlDeps,
  principal: Principal,
  input: UpdateBudgetInput & BudgetRef,
): Promise<BudgetResult> {
  const { organisationId: _organisationId, budgetId: _budgetId, ...rest } = input;
  const { expectedVersion, limitAmount, overflowAmount, ...parsed } = parseInput(updateBudgetInput, rest);
  return changeBudget(deps, principal, input, "budget.write", async (change, before) => {
    if (before.limitVersion.toString() !== expectedVersion) {
      throw new AppError("conflict", "The budget was changed by somebody else", {
        fields: { expectedVersion: before.limitVersion.toString() },
      });
    }
    if (isOfTarget(before) && ((parsed.ladder ?? null) !== null || (overflowAmount ?? "0") !== "0")) {
      throw invalidFields({ ladder: "limit_only" });
    }
    const amounts = parseAmounts(
      limitAmount ?? before.limitAmount.toString(),
      overflowAmount ?? before.overflowAmount.toString(),
    );
    return { changes: { ...definedOnly(parsed), ...amounts }, verb: "update" };
  });
}

/** Stops every call that would be charged to this budget. */
export async function freezeBudget(deps: ControlDeps, principal: Principal, input: BudgetRef): Promise<BudgetResult> {
  return changeBudget(deps, principal, input, "budget.freeze", async (change, before) => ({
    changes: { frozenAt: before.frozenAt ?? change.now },
    verb: "freeze",
  }));
}

export async function unfreezeBudget(deps: ControlDeps, principal: Principal, input: BudgetRef): Promise<BudgetResult> {
  return changeBudget(deps, principal, input, "budget.freeze", async () => ({
    changes: { frozenAt: null },
    verb: "unfreeze",
  }));
}

/** Puts a budget away: it limits nothing any more; its history stays. */
export async function archiveBudget(deps: ControlDeps, principal: Principal, input: BudgetRef): Promise<BudgetResult> {
  return changeBudget(deps, principal, input, "budget.write", async (change) => ({
    changes: { archivedAt: change.now },
    verb: "archive",
  }));
}

/** Writes new values over a budget, with its opening where the counted set changes. Used by undo too. */
export async function rewriteBudget(
  change: Change,
  before: Budget,
  changes: BudgetChanges,
  verb: string,
): Promise<BudgetResult> {
  const next = { ...before, ...changes };
  const opening = countsTheSame(before, next) ? {} : await openingFor(change, next);
  const budget = await updateRow(change.tx, before.id, { ...changes, ...opening });
  change.touch("budget", budget.id);
  const auditId = await change.audit({ ...about(verb, budget), before, after: budget });
  return { budget, auditId, previous: before, overAllocations: await listOverAllocations(change, budget) };
}

async function changeBudget(
  deps: ControlDeps,
  principal: Principal,
  { organisationId, budgetId }: BudgetRef,
  action: Action,
  work: (change: Change, before: Budget) => Promise<{ changes: BudgetChanges; verb: string }>,
): Promise<BudgetResult> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const before = found(await findBudget(change.tx, organisationId, budgetId));
    await change.require(action, await nodeOfBudget(change, before));
    if (before.archivedAt !== null) throw new AppError("conflict", "The budget was put away");
    const { changes, verb } = await work(change, before);
    return rewriteBudget(change, before, changes, verb);
  });
}

/** Whether it says what may be spent at a provider, not by whom. */
function isOfTarget({ providerId, deploymentId }: Budget): boolean {
  return (providerId ?? deploymentId) !== null;
}

function countsTheSame(before: Budget, next: Budget): boolean {
  const key = (budget: Budget): string =>
    JSON.stringify([budget.periodKind, budget.environment, [...budget.models].sort(), [...budget.classes].sort()]);
  return key(before) === key(next);
}

/** The contract has checked each text; together they must still fit what Redis and Postgres can hold. */
function parseAmounts(limit: string, overflow: string): { limitAmount: bigint; overflowAmount: bigint } {
  const amounts = { limitAmount: BigInt(limit), overflowAmount: BigInt(overflow) };
  if (amounts.limitAmount + amounts.overflowAmount > MAX_AMOUNT) {
    throw invalidFields({ overflowAmount: "amount_out_of_range" });
  }
  return amounts;
}

function about(verb: string, budget: Budget) {
  return { action: `budget.${verb}`, objectType: "budget", objectId: budget.id };
}
