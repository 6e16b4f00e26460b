import { updateBudgetInput } from "@/lib/contracts/budgets";
import { writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeBudget } from "@/lib/console/writes";

export const PATCH = writeRoute({ action: "budget.write", input: updateBudgetInput, answer: writeResult }, writeBudget);
