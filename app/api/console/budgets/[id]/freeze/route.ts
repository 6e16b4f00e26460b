import { freezeBudgetInput } from "@/lib/contracts/budgets";
import { writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeFreeze } from "@/lib/console/writes";

export const POST = writeRoute({ action: "budget.freeze", input: freezeBudgetInput, answer: writeResult }, writeFreeze);
