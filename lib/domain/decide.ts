/**
 * The decision is a pure function; the script is arithmetic. Before a call is reserved every rung that could hold is
 * worked out to a plan: which model, which budgets, what amounts, or a denial. The reserve script then reads fresh
 * usage, finds the rung and takes that rung's plan. Plans are numbered by strictness, mildest first.
 */
import type { CallScope } from "./lines";
import { budgetApplies } from "./lines";
import type { ActionKind, EffectivePolicy, Ladder } from "./policy";
import { ACTION_KINDS, actionFor, downgradeTarget, isModelAllowed } from "./policy";
import type { BudgetDocument, Enforcement, Meter } from "./snapshot";

/** A rung from which the script must take at least plan `plan`. */
export interface RungStep {
  readonly atBasisPoints: number;
  readonly plan: number;
}

export interface PlannedBudget {
  readonly budget: BudgetDocument;
  readonly meter: Meter;
  readonly enforcement: Enforcement;
  readonly steps: readonly RungStep[];
  /** Plan to serve from the overflow with; null where this caller may not use it. */
  readonly overflowPlan: number | null;
}

export interface ServePlan {
  readonly kind: "serve";
  readonly model: string;
  readonly decision: "pass" | "downgrade";
  /** The model that would have served and is out; absent where none is. */
  readonly standsInFor?: string;
  /** Which of the budgets this plan charges, by position. */
  readonly charges: readonly boolean[];
}
export interface DenyPlan {
  readonly kind: "deny";
  readonly action: Exclude<ActionKind, "pass" | "downgrade">;
}
export type Plan = ServePlan | DenyPlan;

export interface Decision {
  readonly budgets: readonly PlannedBudget[];
  /** One per ActionKind, in its order. */
  readonly plans: readonly Plan[];
}

export interface DecideInput {
  readonly policy: EffectivePolicy;
  /** Of the caller's chain and key, root first. */
  readonly budgets: readonly BudgetDocument[];
  readonly scope: CallScope;
  readonly isVip: boolean;
  /** Whether a model can be served at all (known, priced, reachable from this environment). */
  readonly canServe: (model: string) => boolean;
  /** The model that serves in place of one whose deployments are all out; the model itself where absent. */
  readonly standIn?: (model: string) => string;
}

const REFUSE = ACTION_KINDS.indexOf("refuse");
const DOWNGRADE = ACTION_KINDS.indexOf("downgrade");
const EXHAUSTED_BASIS_POINTS = 10_000;

function stepsOf(ladder: Ladder | undefined, trafficClass: string): RungStep[] {
  if (!ladder) return [];
  return ladder.rungs.map((rung) => ({
    atBasisPoints: rung.atBasisPoints,
    plan: ACTION_KINDS.indexOf(actionFor(rung, trafficClass).kind),
  }));
}

/** The overflow keeps serving what the last rung below the limit would, where it would serve at all, else the cheapest. */
function overflowPlanOf(ladder: Ladder | undefined, steps: readonly RungStep[], isVip: boolean): number | null {
  const allowed = ladder === undefined || ladder.overflow === "all" || (ladder.overflow === "vip" && isVip);
  if (!allowed) return null;
  const full = steps.filter((step) => step.atBasisPoints >= EXHAUSTED_BASIS_POINTS);
  if (full.some((step) => step.plan !== REFUSE)) return null;
  const below = steps.filter((step) => step.atBasisPoints < EXHAUSTED_BASIS_POINTS).at(-1)?.plan ?? 0;
  return below <= DOWNGRADE ? below : DOWNGRADE;
}

/**
 * Every plan for one call. The downgrade plan serves the asked model where the map names no cheaper one that may be served. What
 * stands in for a model is charged by its own name.
 */
export function decide(input: DecideInput): Decision {
  const { policy, scope } = input;
  const wanted = downgradeTarget(policy, scope.model);
  const cheaper =
    wanted !== undefined && isModelAllowed(policy, wanted, scope.trafficClass) && input.canServe(wanted)
      ? wanted
      : scope.model;
  const standIn = input.standIn ?? ((model) => model);
  const asked = standIn(scope.model);
  const target = standIn(cheaper);
  const fits = (model: string) => (budget: BudgetDocument) => budgetApplies(budget, { ...scope, model });
  const charged = input.budgets.filter((budget) => fits(asked)(budget) || fits(target)(budget));
  const budgets = charged.map((budget): PlannedBudget => {
    const ladder = budget.ladder === null ? undefined : policy.ladders[budget.ladder];
    const steps = stepsOf(ladder, scope.trafficClass);
    return {
      budget,
      meter: budget.meter,
      enforcement: budget.enforcement,
      steps,
      overflowPlan: overflowPlanOf(ladder, steps, input.isVip),
    };
  });
  const serve = (meant: string, decision: ServePlan["decision"]): ServePlan => {
    const model = standIn(meant);
    const charges = charged.map(fits(model));
    return { kind: "serve", model, decision, charges, ...(model === meant ? {} : { standsInFor: meant }) };
  };
  const plans = ACTION_KINDS.map((action): Plan => {
    if (action === "pass") return serve(scope.model, "pass");
    if (action === "downgrade") return serve(cheaper, target === asked ? "pass" : "downgrade");
    return { kind: "deny", action };
  });
  return { budgets, plans };
}
