/** The budget form's state, what it would mean, and the input it becomes. Pure. */
import { alsoCheck, checkBy } from "@/components/format/checked";
import type { Checked, FieldErrors } from "@/components/format/checked";
import { createBudgetInput, updateBudgetInput } from "@/lib/contracts/budgets";
import type { BudgetView, CreateBudgetInput, UpdateBudgetInput } from "@/lib/contracts/budgets";
import { MoneyError, nanosToDecimal, parseDecimalToNanos } from "@/lib/domain/money";
import type { PeriodKind } from "@/lib/domain/period";
import type { Ladder, Rung } from "@/lib/domain/policy";
import { rungInForce, usedBasisPoints } from "@/lib/domain/rung-in-force";
import type { Enforcement, Environment, Meter } from "@/lib/domain/snapshot";

/** Texts as typed; amounts in currency units or counts. */
export interface BudgetDraft {
  readonly name: string;
  readonly meter: Meter;
  readonly amount: string;
  readonly periodKind: PeriodKind;
  readonly ladder: string | null;
  readonly enforcement: Enforcement;
  readonly overflow: string;
  readonly environment: Environment | null;
  readonly models: string;
  readonly classes: readonly string[];
  readonly perEndUser: boolean;
}

export type AmountParse =
  { readonly ok: true; readonly amount: bigint } | { readonly ok: false; readonly error: string };

/** "12 500,5" is not guessed at: plain digits, a point, and grouping by comma or blank in threes. */
export function parseAmount(text: string, meter: Meter): AmountParse {
  const plain = text.trim().replaceAll(/(?<=\d)[, \u00a0\u202f](?=\d{3}(?:\D|$))/gu, "");
  if (plain === "") return { ok: false, error: "required" };
  try {
    if (meter === "cost") return { ok: true, amount: parseDecimalToNanos(plain, "halfEven") };
    return /^\d{1,18}$/u.test(plain) ? { ok: true, amount: BigInt(plain) } : { ok: false, error: "amount_malformed" };
  } catch (error) {
    const outOfRange = error instanceof MoneyError && error.code === "out_of_range";
    return { ok: false, error: outOfRange ? "amount_out_of_range" : "amount_malformed" };
  }
}

export function amountToText(amount: string, meter: Meter): string {
  return meter === "cost" ? nanosToDecimal(BigInt(amount)) : amount;
}

export function draftOf(budget: BudgetView): BudgetDraft {
  return {
    name: budget.name,
    meter: budget.meter,
    amount: amountToText(budget.limitAmount, budget.meter),
    periodKind: budget.periodKind,
    ladder: budget.ladder,
    enforcement: budget.enforcement,
    overflow: amountToText(budget.overflowAmount, budget.meter),
    environment: budget.environment,
    models: budget.models.join(", "),
    classes: budget.classes,
    perEndUser: budget.perEndUser,
  };
}

export function emptyDraft(name: string): BudgetDraft {
  return {
    name,
    meter: "cost",
    amount: "",
    periodKind: "month",
    ladder: "monthly-department",
    enforcement: "enforce",
    overflow: "0",
    environment: null,
    models: "",
    classes: [],
    perEndUser: false,
  };
}

function listOf(text: string): string[] {
  return text
    .split(/[,，\n]/u)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function fieldsOf(draft: BudgetDraft): {
  readonly values: Record<string, unknown>;
  readonly errors: FieldErrors;
} {
  const limit = parseAmount(draft.amount, draft.meter);
  const overflow = parseAmount(draft.overflow === "" ? "0" : draft.overflow, draft.meter);
  const errors: Record<string, string> = {};
  if (!limit.ok) errors["limitAmount"] = limit.error;
  if (!overflow.ok) errors["overflowAmount"] = overflow.error;
  const values = {
    name: draft.name,
    limitAmount: limit.ok ? limit.amount.toString() : "0",
    overflowAmount: overflow.ok ? overflow.amount.toString() : "0",
    periodKind: draft.periodKind,
    enforcement: draft.enforcement,
    ladder: draft.ladder,
    environment: draft.environment,
    models: listOf(draft.models),
    classes: [...draft.classes],
  };
  return { values, errors };
}

export function toCreateInput(
  draft: BudgetDraft,
  target: { consumerId: string | null; apiKeyId: string | null },
): Checked<CreateBudgetInput> {
  const { values, errors } = fieldsOf(draft);
  const input = { ...values, ...target, meter: draft.meter, perEndUser: draft.perEndUser };
  return alsoCheck(checkBy(createBudgetInput, input), errors);
}

/** Only what differs from the budget as it was opened: another person's change of another field is not put back. */
export function toUpdateInput(draft: BudgetDraft, budget: BudgetView, version: string): Checked<UpdateBudgetInput> {
  const { values, errors } = fieldsOf(draft);
  const before = fieldsOf(draftOf(budget)).values;
  const changed = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
  return alsoCheck(checkBy(updateBudgetInput, { ...changed, expectedVersion: version }), errors);
}

export interface DraftMeaning {
  readonly usedBasisPoints: number | null;
  readonly rung: Rung | undefined;
  readonly left: bigint;
  /** Spent and held now. */
  readonly used: bigint;
  readonly isBelowUse: boolean;
  /** The current counter would not be what the draft counts. */
  readonly countsOther: boolean;
}

/** Where the budget would stand with the draft's limit; undefined while the amount cannot be read. */
export function meaningOf(
  draft: BudgetDraft,
  budget: BudgetView,
  ladder: Ladder | undefined,
): DraftMeaning | undefined {
  const parsed = parseAmount(draft.amount, draft.meter);
  if (!parsed.ok) return undefined;
  const limit = parsed.amount + BigInt(budget.grantedAmount);
  const used = BigInt(budget.spentAmount) + BigInt(budget.heldAmount);
  const before = draftOf(budget);
  return {
    usedBasisPoints: usedBasisPoints(used, limit),
    rung: ladder === undefined ? undefined : rungInForce(ladder, used, limit),
    left: limit - used,
    used,
    isBelowUse: used > limit,
    countsOther:
      draft.periodKind !== before.periodKind ||
      draft.environment !== before.environment ||
      draft.models !== before.models ||
      [...draft.classes].sort().join() !== [...before.classes].sort().join(),
  };
}
