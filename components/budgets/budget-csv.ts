/** The tree of budgets as rows of a spreadsheet: exact amounts, one line a budget, and a line for a node that has none. Pure. */
import { utcText } from "@/components/format/time";
import type { BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import type { CsvCell } from "@/lib/domain/csv";
import { nanosToDecimal } from "@/lib/domain/money";

export const BUDGET_CSV_COLUMNS = [
  "node",
  "kind",
  "costCentre",
  "budget",
  "period",
  "unit",
  "limit",
  "topUps",
  "spent",
  "held",
  "left",
  "used",
  "rung",
  "enforcement",
  "resetUtc",
] as const;
export type BudgetCsvColumn = (typeof BUDGET_CSV_COLUMNS)[number];

/** Words for codes, in the reader's language. */
export interface BudgetCsvWords {
  readonly kind: (kind: BudgetTree["nodes"][number]["kind"]) => string;
  readonly period: (kind: BudgetView["periodKind"]) => string;
  readonly meter: (meter: BudgetView["meter"]) => string;
  readonly rung: (name: string) => string;
  readonly enforcement: (enforcement: BudgetView["enforcement"]) => string;
}

function budgetCells(
  budget: BudgetView,
  currency: string,
  words: BudgetCsvWords,
): Partial<Record<BudgetCsvColumn, CsvCell>> {
  const { meter, limitAmount, grantedAmount, spentAmount, heldAmount, usedBasisPoints } = budget;
  const amount = (value: bigint | string): CsvCell => ({
    decimal: meter === "cost" ? nanosToDecimal(BigInt(value)) : String(value),
  });
  const isHeldKnown = budget.source === "live" && !budget.perEndUser;
  return {
    budget: budget.name,
    period: words.period(budget.periodKind),
    unit: meter === "cost" ? currency : words.meter(meter),
    limit: amount(limitAmount),
    topUps: amount(grantedAmount),
    spent: amount(spentAmount),
    held: isHeldKnown ? amount(heldAmount) : null,
    left: amount(BigInt(limitAmount) + BigInt(grantedAmount) - BigInt(spentAmount) - BigInt(heldAmount)),
    used: usedBasisPoints === null ? null : { decimal: (usedBasisPoints / 10_000).toFixed(4) },
    rung: budget.rung === null ? null : words.rung(budget.rung.name),
    enforcement: words.enforcement(budget.enforcement),
    resetUtc: utcText(budget.period.endMs),
  };
}

/** Without the line of names. `used` is a share: 0.7160 is 71.6 %. */
export function budgetCsvRows(tree: BudgetTree, words: BudgetCsvWords): readonly (readonly CsvCell[])[] {
  return tree.nodes.flatMap((node) => {
    const own: Partial<Record<BudgetCsvColumn, CsvCell>> = {
      node: node.name,
      kind: words.kind(node.kind),
      costCentre: node.costCentre,
    };
    const lines =
      node.budgets.length === 0
        ? [own]
        : node.budgets.map((budget) => ({ ...own, ...budgetCells(budget, tree.organisation.currency, words) }));
    return lines.map((line) => BUDGET_CSV_COLUMNS.map((column) => line[column] ?? null));
  });
}
