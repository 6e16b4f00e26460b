/** A few changes by people, so that the history of a budget and the audit log have something to show. */
import { updateBudget } from "@/lib/control/budgets";
import type { ControlDeps } from "@/lib/control/deps";
import { grantBudget } from "@/lib/control/grants";
import { findUserByEmail } from "@/lib/db/users";
import { listMembershipsOfUser } from "@/lib/db/users";
import type { Budget } from "@/lib/domain/entities";
import type { Principal } from "@/lib/domain/role";

async function personOf(deps: ControlDeps, email: string): Promise<Principal> {
  const user = await findUserByEmail(deps.db.prisma, email);
  if (user === null) throw new Error(`${email} is not in the sample company`);
  const memberships = await listMembershipsOfUser(deps.db.prisma, user.id);
  return { userId: user.id, label: user.name, memberships };
}

const FIVE_PERCENT = 20n;

export async function addRecentChanges(
  deps: ControlDeps,
  organisationId: string,
  budgets: readonly Budget[],
): Promise<void> {
  const finance = await personOf(deps, "finance@lumen.example");
  const department = budgets.find((budget) => budget.name.startsWith("部门"));
  if (department !== undefined) {
    await updateBudget(deps, finance, {
      organisationId,
      budgetId: department.id,
      expectedVersion: department.limitVersion.toString(),
      limitAmount: (department.limitAmount + department.limitAmount / FIVE_PERCENT).toString(),
    });
  }
  const day = budgets.find((budget) => budget.periodKind === "day");
  if (day !== undefined) {
    await grantBudget(deps, await personOf(deps, "manager@lumen.example"), {
      organisationId,
      budgetId: day.id,
      amount: (day.limitAmount / 4n).toString(),
      reason: "双十二预热，客服咨询量增加 / more questions before the sale",
      endsAtMs: null,
    });
  }
}
