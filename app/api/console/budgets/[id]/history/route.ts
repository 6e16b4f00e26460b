import { budgetHistory } from "@/lib/contracts/budgets";
import { readBudgetHistory } from "@/lib/console/budgets";
import { noQuery, readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import type { WithId } from "@/lib/console/writes";

export const GET = readRoute<typeof noQuery, typeof budgetHistory, WithId>(
  { action: "budget.read", query: noQuery, answer: budgetHistory },
  ({ who, params }) => readBudgetHistory(services(), who, params.id),
);
