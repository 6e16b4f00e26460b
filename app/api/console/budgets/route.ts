import { budgetTree, createBudgetInput } from "@/lib/contracts/budgets";
import { writeResult } from "@/lib/contracts/common";
import { readBudgetTree } from "@/lib/console/budgets";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import { writeNewBudget } from "@/lib/console/writes";

export const GET = readRoute({ action: "budget.read", query: noQuery, answer: budgetTree }, ({ who }) =>
  readBudgetTree(services(), who),
);

export const POST = writeRoute(
  { action: "budget.write", input: createBudgetInput, answer: writeResult },
  writeNewBudget,
);
