/** What a typed limit comes to, so that an error of unit is seen before it is saved. Pure. */
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import type { PeriodKind } from "@/lib/domain/period";
import { parseAmount } from "./budget-draft";
import type { BudgetDraft } from "./budget-draft";

/** Of an ordinary period; enough to tell hundreds from thousands. */
const DAYS: Readonly<Record<PeriodKind, bigint>> = { day: 1n, week: 7n, month: 30n, quarter: 91n, year: 365n };

/** From so many times on, or so many times less, a person is asked whether the unit is right. */
const SUSPICIOUS_FACTOR = 10n;

export interface LimitMeaning {
  /** In the budget's meter: nanos of money, else a count. */
  readonly amount: bigint;
  readonly perDay: bigint;
  /** What it is held against; null: there is nothing like it. */
  readonly against: { readonly kind: "saved" | "above"; readonly name: string; readonly amount: bigint } | null;
  /** Tenths: 25 is 2.5 times as much. null: there is nothing to hold it against, or it is zero. */
  readonly timesTenths: bigint | null;
  readonly isSuspicious: boolean;
}

function isLike(budget: BudgetView, draft: BudgetDraft): boolean {
  return budget.meter === draft.meter && budget.periodKind === draft.periodKind && !budget.perEndUser;
}

/** The nearest budget above the node that counts the same in the same period: a limit far above it is likely a slip. */
function budgetAbove(tree: BudgetTree, nodeId: string, draft: BudgetDraft): BudgetView | undefined {
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  for (let node = byId.get(byId.get(nodeId)?.parentId ?? ""); node !== undefined;) {
    const found = node.budgets.find((budget) => isLike(budget, draft));
    if (found !== undefined) return found;
    node = byId.get(node.parentId ?? "");
  }
  return undefined;
}

/** undefined while the amount cannot be read. */
export function limitMeaning(
  tree: BudgetTree,
  nodeId: string,
  budget: BudgetView | null,
  draft: BudgetDraft,
): LimitMeaning | undefined {
  const parsed = parseAmount(draft.amount, draft.meter);
  if (!parsed.ok) return undefined;
  const { amount } = parsed;
  const perDay = amount / DAYS[draft.periodKind];
  const saved = budget !== null && isLike(budget, draft) ? budget : undefined;
  const reference = saved ?? budgetAbove(tree, nodeId, draft);
  if (reference === undefined) return { amount, perDay, against: null, timesTenths: null, isSuspicious: false };
  const before = BigInt(reference.limitAmount);
  const kind = saved === undefined ? "above" : "saved";
  // Below another budget most are much smaller, so only what exceeds it is asked about.
  const isTooMuch = amount >= before * (saved === undefined ? 1n : SUSPICIOUS_FACTOR) && amount !== before;
  const isTooLittle = saved !== undefined && amount * SUSPICIOUS_FACTOR <= before;
  return {
    ...{ amount, perDay, against: { kind, name: reference.name, amount: before } },
    timesTenths: before === 0n || amount === 0n ? null : (amount * 10n) / before,
    isSuspicious: before > 0n && (isTooMuch || isTooLittle),
  };
}
