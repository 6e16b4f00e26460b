/** Grants: temporary additions to a budget in its current period. They are pushed as absolute values, so none doubles. */
import { createGrantInput } from "@/lib/contracts/budgets";
import type { CreateGrantInput } from "@/lib/contracts/budgets";
import { findBudget, findGrant, insertGrant, listOpenGrants, updateGrant } from "@/lib/db/budgets";
import { calendarOf } from "@/lib/domain/entities";
import type { Budget, Grant } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { MAX_AMOUNT } from "@/lib/domain/money";
import { periodAt } from "@/lib/domain/period";
import type { Principal } from "@/lib/domain/role";
import { nodeOfBudget } from "./budgets";
import type { BudgetRef } from "./budgets";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { invalidFields, parseInput } from "./validate";

export interface GrantResult {
  readonly grant: Grant;
  readonly auditId: string;
}

/** Adds to a budget from now to the end of the current period, or to `endsAtMs` when that is earlier. */
export async function grantBudget(
  deps: ControlDeps,
  principal: Principal,
  input: CreateGrantInput & BudgetRef & { readonly kind?: "top_up" | "loan"; readonly approvalId?: string },
): Promise<GrantResult> {
  const { organisationId, budgetId, kind = "top_up", approvalId = null, ...rest } = input;
  const values = parseInput(createGrantInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const budget = found(await findBudget(change.tx, organisationId, budgetId));
    await change.require("grant.write", await nodeOfBudget(change, budget));
    if (budget.archivedAt !== null) throw new AppError("conflict", "The budget was put away");
    // It would be nobody's: what is added is added to the period, and each end user has a counter of his own.
    if (budget.perEndUser)
      throw new AppError("conflict", "A budget of each end user cannot be topped up; raise its limit");
    const amount = BigInt(values.amount);
    await assertFits(change, budget, amount);
    const period = periodAt(budget.periodKind, change.nowMs, calendarOf(change.organisation));
    const endsAtMs = Math.min(values.endsAtMs ?? period.endMs, period.endMs);
    if (endsAtMs <= change.nowMs) throw invalidFields({ endsAtMs: "in_the_past" });
    const grant = await insertGrant(change.tx, {
      id: newId("grt", change.nowMs),
      organisationId,
      budgetId,
      periodId: period.id,
      amount,
      startsAt: change.now,
      endsAt: new Date(endsAtMs),
      kind,
      reason: values.reason,
      approvalId,
      createdById: principal.userId,
    });
    change.touch("budget", budgetId);
    const auditId = await change.audit({ ...about("create", grant), after: grant });
    return { grant, auditId };
  });
}

/** Takes a grant back. Calls already admitted on it stay; revoking twice changes nothing. */
export async function revokeGrant(
  deps: ControlDeps,
  principal: Principal,
  input: { readonly organisationId: string; readonly grantId: string },
): Promise<GrantResult> {
  return changeOrganisation(deps, principal, input.organisationId, async (change) => {
    const before = found(await findGrant(change.tx, input.organisationId, input.grantId));
    const budget = found(await findBudget(change.tx, input.organisationId, before.budgetId));
    await change.require("grant.write", await nodeOfBudget(change, budget));
    const grant = await updateGrant(change.tx, before.id, { revokedAt: before.revokedAt ?? change.now });
    change.touch("budget", budget.id);
    const auditId = await change.audit({ ...about("revoke", grant), before, after: grant });
    return { grant, auditId };
  });
}

/** Limit, overflow and grants together must fit what the counters can compare. */
async function assertFits(change: Change, budget: Budget, amount: bigint): Promise<void> {
  const open = await listOpenGrants(change.tx, [budget.id], change.now);
  const granted = open.reduce((sum, grant) => sum + grant.amount, 0n);
  if (budget.limitAmount + budget.overflowAmount + granted + amount > MAX_AMOUNT) {
    throw invalidFields({ amount: "amount_out_of_range" });
  }
}

function about(verb: string, grant: Grant) {
  return { action: `grant.${verb}`, objectType: "grant", objectId: grant.id };
}
