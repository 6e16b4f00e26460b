/**
 * Budgets that count each end user by himself: the call of one end user has his counters in its lines. Calls that name nobody
 * share one counter, so that leaving the name out is no way around the limit.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { endUserPeriodId, UNNAMED_END_USER } from "@/lib/domain/lines";
import type { BudgetDocument } from "@/lib/domain/snapshot";
import { endUserId, endUserName } from "@/lib/identity/end-user";
import type { CompiledCall } from "./compiled-call";
import { linePrefixOf } from "./compiled-call";
import type { Authenticated } from "./exchange";
import type { KeyHasher } from "./ports";

/** Of one compiled call; the last ones used are kept. */
const MAX_END_USERS = 1_000;

/** By name; null is who is not named. */
const callsOf = new WeakMap<CompiledCall, Map<string | null, CompiledCall>>();

/**
 * The period id of a budget for one end user. The name is hashed with whom the budget stands at, not with the app that calls: who
 * calls in another's name meets the same counter.
 */
export function countedPeriodId(
  { view }: Authenticated,
  budget: BudgetDocument,
  periodId: string,
  name: string | null,
  hasher: KeyHasher,
): string {
  if (!budget.perEndUser) return periodId;
  if (name === null) return endUserPeriodId(periodId, UNNAMED_END_USER);
  const scope = { organisationId: view.organisation.id, appId: budget.consumerId ?? budget.apiKeyId ?? "" };
  return endUserPeriodId(
    periodId,
    endUserId(scope, name, (text) => hasher.hash(text)),
  );
}

/** The call with the counters of its end user: who was proved or named in the header, else `user` of the body. */
export function callOfEndUser(
  call: CompiledCall,
  caller: Authenticated,
  bodyUser: string | null,
  hasher: KeyHasher,
): CompiledCall | Denial {
  const said = endUserName({ header: caller.endUser, bodyUser, bodyMetadataUserId: null });
  if (!said.ok) return denial("invalid_request", { param: said.param, detail: said.detail });
  const { name } = said;
  const calls = callsOf.get(call) ?? new Map<string | null, CompiledCall>();
  callsOf.set(call, calls);
  const known = calls.get(name);
  if (known) {
    calls.delete(name);
    calls.set(name, known);
    return known;
  }
  const lines = call.lines.map((line, index) => {
    const budget = call.decision.budgets[index]?.budget;
    return budget ? { ...line, periodId: countedPeriodId(caller, budget, line.periodId, name, hasher) } : line;
  });
  const fresh = { ...call, lines, linePrefixes: lines.map(linePrefixOf), variants: new Map<string, CompiledCall>() };
  if (calls.size >= MAX_END_USERS) {
    const oldest = calls.keys().next();
    if (!oldest.done) calls.delete(oldest.value);
  }
  calls.set(name, fresh);
  return fresh;
}
