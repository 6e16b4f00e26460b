/**
 * Sessions: calls that name the same `x-spillway-session` (an agent's run, a conversation) share counters, in the same reserve as
 * their budgets. The counters hang on the key's app, whoever the call is booked on, and are gone some time after the last call, so
 * there are never more than that time's admitted calls. They are in no ledger line: what a session may use is a guard against runs
 * that do not end, below budgets that are proved; where Redis loses its data sessions begin anew.
 */
import type { BudgetFacts, Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { SessionLimit } from "@/lib/domain/call-settings";
import type { CompiledCall } from "./compiled-call";
import type { Classified } from "./exchange";
import type { BudgetReading, KeyHasher, ReserveBudgetLine } from "./ports";

export const SESSION_HEADER = "x-spillway-session";
const NAME = /^[\x21-\x7e]{1,256}$/u;
/** Of one compiled call; the last ones used are kept. */
const MAX_SESSIONS = 1_000;

const callsOf = new WeakMap<CompiledCall, Map<string, CompiledCall>>();

function linesOf(limit: SessionLimit, sessionId: string): ReserveBudgetLine[] {
  const line = { budgetId: sessionId, periodId: "", enforcement: "enforce", rungs: "", overflowPlan: null } as const;
  const idleMs = limit.idleSeconds * 1000;
  const { costNanos, requests } = limit;
  return [
    ...(costNanos === undefined ? [] : [{ ...line, meter: "cost", session: { limit: costNanos, idleMs } } as const]),
    ...(requests === undefined
      ? []
      : [{ ...line, meter: "requests", session: { limit: String(requests), idleMs } } as const]),
  ];
}

/** What is noted of it with the call: a name of any kind, as long as one may be; null where there is none. */
export function notedSession({ session }: Pick<Classified, "session">): string | null {
  return session === null || session === "" ? null : session.slice(0, 256);
}

/** The same for what is noted beside the calls. */
export function sessionNote(caller: Pick<Classified, "session">): { readonly session?: string } {
  const session = notedSession(caller);
  return session === null ? {} : { session };
}

/** The call with the counters of its session; a denial where its name is missing or is none. */
export function callOfSession(
  call: CompiledCall,
  caller: Classified,
  limit: SessionLimit,
  hasher: KeyHasher,
): CompiledCall | Denial {
  const { session } = caller;
  if (session === null) {
    if (!limit.isRequired) return call;
    return denial("invalid_request", { param: SESSION_HEADER, detail: `${SESSION_HEADER} must name a session` });
  }
  if (!NAME.test(session)) {
    const detail = `${SESSION_HEADER} must be 1 to 256 visible ASCII characters`;
    return denial("invalid_request", { param: SESSION_HEADER, detail });
  }
  const calls = callsOf.get(call) ?? new Map<string, CompiledCall>();
  callsOf.set(call, calls);
  const known = calls.get(session);
  if (known) {
    calls.delete(session);
    calls.set(session, known);
    return known;
  }
  // JSON keeps the parts apart whatever characters are in them.
  const parts = JSON.stringify(["session", caller.view.organisation.id, caller.key.appId, session]);
  const lines = [...call.lines, ...linesOf(limit, hasher.hash(parts).slice(0, 32))];
  const fresh = { ...call, lines, variants: new Map<string, CompiledCall>() };
  if (calls.size >= MAX_SESSIONS) {
    const oldest = calls.keys().next();
    if (!oldest.done) calls.delete(oldest.value);
  }
  calls.set(session, fresh);
  return fresh;
}

/** The session that stands in the way. */
export function sessionFacts(caller: Classified, line: ReserveBudgetLine, reading: BudgetReading): BudgetFacts {
  return {
    ...{ budgetId: null, scope: "session", consumerId: caller.chain.appId, consumerName: caller.session ?? "" },
    ...{ meter: line.meter, periodKind: "session", periodId: "", resetsAtMs: null },
    ...{ limit: reading.limit, used: reading.settled, held: reading.held },
    currency: caller.view.organisation.currency,
  };
}
