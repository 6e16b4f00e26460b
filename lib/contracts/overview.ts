/** The overview: spend against budget today and this month, for the part of the tree the principal may see. */
import { z } from "zod";
import { budgetView, periodView } from "./budgets";
import { amountText, idText, organisationView, timeMs } from "./common";

export const spendTotals = z.object({
  amount: amountText,
  requests: z.int(),
  savedAmount: amountText,
  downgradeRequests: z.int(),
  errorRequests: z.int(),
});

export const overviewBudget = budgetView.extend({ consumerName: z.string(), consumerKind: z.string() });
export type OverviewBudget = z.infer<typeof overviewBudget>;

export const spendRange = z.object({
  period: periodView,
  totals: spendTotals,
  /** Same number of elapsed milliseconds in the period before; null when that period holds no entry at all. */
  previousAmount: amountText.nullable(),
  /** The limit (with grants) of the top cost budget of this period kind; null without one. */
  limitAmount: amountText.nullable(),
  /** In flight on that budget; null without one or when counters cannot be read. */
  heldAmount: amountText.nullable(),
});

export const departmentSpend = z.object({
  id: idText,
  name: z.string(),
  amount: amountText,
  requests: z.int(),
  limitAmount: amountText.nullable(),
});

export const modelSpend = z.object({
  model: z.string(),
  amount: amountText,
  requests: z.int(),
  inputTokens: amountText,
  outputTokens: amountText,
  savedAmount: amountText,
  downgradeRequests: z.int(),
});

export const refusalRow = z.object({
  requestId: z.string(),
  atMs: timeMs,
  code: z.string(),
  appName: z.string().nullable(),
  model: z.string().nullable(),
});

export const overview = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  /** Newest ledger entry of the organisation; null when there is none. */
  bookedThroughMs: timeMs.nullable(),
  /** Usage events that wait to be booked, and for how long the oldest has; null when Redis cannot say. */
  backlog: z.object({ waiting: z.int(), oldestAgeMs: z.int().nullable() }).nullable(),
  /** Whether live counters could be read. */
  live: z.boolean(),
  today: spendRange,
  month: spendRange,
  /** One point per local day of the month up to today; `amount` is that day's spend. */
  days: z.array(z.object({ startMs: timeMs, endMs: timeMs, amount: amountText })),
  budgets: z.array(overviewBudget),
  departments: z.array(departmentSpend),
  models: z.array(modelSpend),
  refusals: z.array(refusalRow),
  canRemoveSample: z.boolean(),
});
export type Overview = z.infer<typeof overview>;
