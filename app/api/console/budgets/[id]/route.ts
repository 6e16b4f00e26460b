import { updateBudgetInput } from "@/lib/contracts/budgets";
import { nothing, writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeBudget, writeBudgetRemoval } from "@/lib/console/writes";

export const PATCH = writeRoute({ action: "budget.write", input: updateBudgetInput, answer: writeResult }, writeBudget);

/** Puts the budget away: it limits nothing any more, and its history stays. */
export const DELETE = writeRoute({ action: "budget.write", input: nothing, answer: writeResult }, writeBudgetRemoval);
