/** `GET /me` and `GET /me/usage`: a key's own limits as they bite right now. Works when the budget is gone. */
import type { Period } from "@/lib/domain/period";
import type { BudgetDocument } from "@/lib/domain/snapshot";
import { countedPeriodId } from "../end-user-call";
import type { Authenticated } from "../exchange";
import type { BudgetBalance, BudgetLedger, KeyHasher } from "../ports";

interface StandingBudget {
  readonly budget: BudgetDocument;
  readonly period: Period;
  readonly balance: BudgetBalance;
}

export interface MeDeps {
  readonly ledger: BudgetLedger;
  readonly hasher: KeyHasher;
}

async function standing(caller: Authenticated, { ledger, hasher }: MeDeps, nowMs: number): Promise<StandingBudget[]> {
  const lines = caller.chain.budgets.map((budget) => ({
    budget,
    period: caller.view.periods.at(budget.periodKind, nowMs),
  }));
  const balances = await ledger.read(
    caller.view.organisation.id,
    lines.map(({ budget, period }) => ({
      budgetId: budget.id,
      periodId: countedPeriodId(caller, budget, period.id, caller.endUser, hasher),
    })),
  );
  return lines.flatMap((line, index) => {
    const balance = balances[index];
    return balance ? [{ ...line, balance }] : [];
  });
}

function remainingOf({ balance }: StandingBudget): bigint {
  const left = balance.limit - balance.settled - balance.held;
  return left > 0n ? left : 0n;
}

function budgetEntry(caller: Authenticated, line: StandingBudget) {
  const { budget, balance, period } = line;
  const consumer = budget.consumerId === null ? undefined : caller.view.consumers.get(budget.consumerId);
  return {
    id: budget.id,
    name: budget.name,
    scope: consumer?.kind ?? "key",
    consumer: consumer?.name ?? caller.key.name,
    meter: budget.meter,
    period: budget.periodKind,
    enforcement: budget.enforcement,
    per_end_user: budget.perEndUser,
    filters: { models: budget.models, classes: budget.classes, environment: budget.environment },
    // Nanos of the currency for cost, pieces for the other meters; texts, because JSON numbers are doubles.
    limit: String(balance.limit),
    used: String(balance.settled),
    held: String(balance.held),
    remaining: String(remainingOf(line)),
    overflow: String(balance.overflow),
    frozen: balance.isFrozen,
    resets_at: new Date(period.endMs).toISOString(),
  };
}

/** The tightest enforced money budget without filters: what is really left, whatever the others say. */
function effective(caller: Authenticated, lines: readonly StandingBudget[]) {
  const money = lines.filter(
    ({ budget }) =>
      budget.meter === "cost" &&
      budget.enforcement === "enforce" &&
      budget.models.length === 0 &&
      budget.classes.length === 0,
  );
  const binding = money.reduce<StandingBudget | undefined>(
    (tightest, line) => (tightest === undefined || remainingOf(line) < remainingOf(tightest) ? line : tightest),
    undefined,
  );
  return binding
    ? {
        remaining: String(remainingOf(binding)),
        currency: caller.view.organisation.currency,
        limited_by: binding.budget.id,
      }
    : null;
}

export async function meBody(caller: Authenticated, deps: MeDeps, nowMs: number): Promise<object> {
  const lines = await standing(caller, deps, nowMs);
  const { key, view } = caller;
  return {
    object: "caller",
    key: {
      id: key.keyId,
      name: key.name,
      environment: key.environment,
      class: key.trafficClass,
      classes: key.entitledClasses,
    },
    organization: { id: view.organisation.id, name: view.organisation.name, time_zone: view.organisation.timeZone },
    consumers: caller.chain.consumers.map(({ id, kind, name }) => ({ id, kind, name })),
    currency: view.organisation.currency,
    effective: effective(caller, lines),
    budgets: lines.map((line) => budgetEntry(caller, line)),
    rate_limits: caller.chain.rateLimits.map((limit) => ({
      requests_per_second: limit.requestsPerSecond,
      requests_per_minute: limit.requestsPerMinute,
      tokens_per_minute: limit.tokensPerMinute,
      concurrency: limit.concurrency,
    })),
  };
}

export async function usageBody(caller: Authenticated, deps: MeDeps, nowMs: number): Promise<object> {
  const lines = await standing(caller, deps, nowMs);
  return {
    object: "usage",
    currency: caller.view.organisation.currency,
    effective: effective(caller, lines),
    data: lines.map((line) => budgetEntry(caller, line)),
  };
}
