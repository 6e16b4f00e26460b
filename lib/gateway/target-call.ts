/**
 * What may be spent at a provider, or through one of its deployments, whoever calls: one more budget in the lines of a call that
 * is sent there, held and settled with the caller's own. It is nobody's rung and nobody's refusal: where it has no room the call
 * goes elsewhere. Organisations without such a budget pay one look at the size of a map.
 */
import type { PlannedBudget } from "@/lib/domain/decide";
import { budgetApplies } from "@/lib/domain/lines";
import type { BudgetDocument } from "@/lib/domain/snapshot";
import type { CompiledCall } from "./compiled-call";
import { linePrefixOf, linesOf } from "./compiled-call";
import type { Classified } from "./exchange";
import type { Serving } from "./serving";

type Caller = Pick<Classified, "view" | "chain" | "trafficClass">;

const limitedCalls = new WeakMap<CompiledCall, CompiledCall>();

function plannedOf(budget: BudgetDocument): PlannedBudget {
  return { budget, meter: budget.meter, enforcement: budget.enforcement, steps: [], overflowPlan: null };
}

/** Budgets of the target that count what this serving costs. */
function budgetsOf({ model, target }: Serving, { view, chain, trafficClass }: Caller): BudgetDocument[] {
  const scope = { model: model.name, trafficClass, environment: chain.environment };
  const { targetBudgets } = view;
  const all = [...(targetBudgets.get(target.provider.id) ?? []), ...(targetBudgets.get(target.id) ?? [])];
  return all.filter((budget) => budgetApplies(budget, scope));
}

function limit(call: CompiledCall, caller: Caller, nowMs: number): CompiledCall {
  const ofServings = call.servings.map((serving) => (serving ? budgetsOf(serving, caller) : []));
  const budgets = [...new Set(ofServings.flat())];
  if (budgets.length === 0) return call;
  const planned = budgets.map(plannedOf);
  const own = linesOf(caller.view, planned, nowMs);
  const servings = call.servings.map((serving, index): Serving | undefined => {
    if (!serving) return undefined;
    const { plan } = serving;
    const charged = budgets.map((budget) => ofServings[index]?.includes(budget) === true);
    return { ...serving, plan: { ...plan, charges: [...plan.charges, ...charged] } };
  });
  // Sessions come last: they are none of the decision's budgets.
  const sessionsAt = call.decision.budgets.length;
  return {
    ...call,
    decision: {
      budgets: [...call.decision.budgets, ...planned],
      plans: call.decision.plans.map((plan, index) => servings[index]?.plan ?? plan),
    },
    servings,
    variants: new Map(),
    windowStartMs: Math.max(call.windowStartMs, own.startMs),
    windowEndMs: Math.min(call.windowEndMs, own.endMs),
    lines: [...call.lines.slice(0, sessionsAt), ...own.lines, ...call.lines.slice(sessionsAt)],
    resetsAtMs: [...call.resetsAtMs, ...own.resetsAtMs],
    linePrefixes: [...call.linePrefixes, ...own.lines.map(linePrefixOf)],
  };
}

/** The call with the budgets of its targets. */
export function callOfTargets(call: CompiledCall, caller: Caller, nowMs: number): CompiledCall {
  if (caller.view.targetBudgets.size === 0) return call;
  const known = limitedCalls.get(call);
  if (known && nowMs >= known.windowStartMs && nowMs < known.windowEndMs) return known;
  const fresh = limit(call, caller, nowMs);
  limitedCalls.set(call, fresh);
  return fresh;
}
