/** Takes a change back by its audit row, as a new change with its own row. Only while nothing came after it. */
import { findAuditEntry } from "@/lib/db/audit-log";
import { findBudget } from "@/lib/db/budgets";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import { z } from "zod";
import { ENFORCEMENTS, ENVIRONMENTS } from "@/lib/domain/snapshot";
import { PERIOD_KINDS } from "@/lib/domain/period";
import { nodeOfBudget, rewriteBudget } from "./budgets";
import type { BudgetResult } from "./budgets";
import { changeOrganisation, found, notFound } from "./change";
import type { ControlDeps } from "./deps";

const UNDOABLE: Readonly<Record<string, "budget.write" | "budget.freeze">> = {
  "budget.update": "budget.write",
  "budget.undo": "budget.write",
  "budget.archive": "budget.write",
  "budget.freeze": "budget.freeze",
  "budget.unfreeze": "budget.freeze",
};

const instant = z.iso.datetime().transform((text) => new Date(text));

/** What the audit row says of a budget: amounts as text, times as ISO text. */
const storedBudget = z.object({
  name: z.string(),
  periodKind: z.enum(PERIOD_KINDS),
  limitAmount: z.string().transform(BigInt),
  overflowAmount: z.string().transform(BigInt),
  enforcement: z.enum(ENFORCEMENTS),
  ladder: z.string().nullable(),
  environment: z.enum(ENVIRONMENTS).nullable(),
  models: z.array(z.string()),
  classes: z.array(z.string()),
  frozenAt: instant.nullable(),
  archivedAt: instant.nullable(),
});

/** Whether a change of this kind can be taken back at all. */
export function isUndoable(action: string): boolean {
  return Object.hasOwn(UNDOABLE, action);
}

/**
 * Gives a budget back the values it had before the named change. `conflict` when it was changed since, or when the
 * change is of a kind that cannot be taken back; `not_found` when the principal may not make such a change.
 */
export async function undoChange(
  deps: ControlDeps,
  principal: Principal,
  input: { readonly organisationId: string; readonly auditId: string },
): Promise<BudgetResult> {
  return changeOrganisation(deps, principal, input.organisationId, async (change) => {
    const entry = found(await findAuditEntry(change.tx, input.organisationId, input.auditId));
    const budget =
      entry.objectType === "budget" ? await findBudget(change.tx, input.organisationId, entry.objectId) : null;
    const action = UNDOABLE[entry.action];
    // Whoever may not see the budget must not learn from the answer what kind of change the id names.
    if (budget === null) throw notFound();
    await change.require(action ?? "budget.write", await nodeOfBudget(change, budget));
    if (action === undefined) throw new AppError("conflict", "This change cannot be undone");
    const after = z.object({ limitVersion: z.string() }).parse(entry.after);
    if (after.limitVersion !== budget.limitVersion.toString()) {
      throw new AppError("conflict", "The budget was changed since");
    }
    return rewriteBudget(change, budget, storedBudget.parse(entry.before), "undo");
  });
}
