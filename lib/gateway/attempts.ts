/**
 * Where an attempt goes, and whether another follows: deployments by priority and weight, breakers, waits with jitter
 * (lib/routing). Each attempt is a reservation and a fact of its own.
 */
import type { Breakers, BreakerTicket, CallOutcome } from "@/lib/routing/breakers";
import { chooseDeployments } from "@/lib/routing/choice";
import type { RetrySettings } from "@/lib/routing/retry-plan";
import { planRetry } from "@/lib/routing/retry-plan";
import type { CompiledCall, Serving, Target } from "./compiled-call";
import { atTargets } from "./compiled-call";
import type { Held } from "./exchange";
import type { AttemptFailure } from "./stages/upstream-error";

export interface AttemptDeps {
  readonly breakers: Breakers;
  readonly retry: RetrySettings;
  /** In [0, 1). */
  readonly random: () => number;
  readonly clock: { nowMs(): number };
}

/** No target may be called now; when one may again. */
export interface Resting {
  readonly restingMs: number;
}

/** Targets that have failed in this call, by the id of their deployment. */
export type Tried = ReadonlySet<string>;

const NONE_TRIED: Tried = new Set();

function choiceOf(serving: Serving, tried: Tried, deps: AttemptDeps): Target | undefined {
  const fresh = serving.targets.filter((target) => !tried.has(target.id));
  const nowMs = deps.clock.nowMs();
  const { order } = chooseDeployments({
    deployments: fresh.length > 0 ? fresh : serving.targets,
    regions: null,
    admissionOf: (id) => deps.breakers.admission(id, nowMs),
    random: deps.random,
  });
  return order[0];
}

function restingMs(serving: Serving, deps: AttemptDeps): number {
  const nowMs = deps.clock.nowMs();
  const next = serving.targets.map((target) => deps.breakers.nextAdmissionMs(target.id, nowMs));
  return Math.max(1000, Math.min(...next) - nowMs);
}

/** The call with a target for each plan. Most calls have one target and no breaker that knows of trouble. */
export function withTargets(call: CompiledCall, deps: AttemptDeps, tried: Tried = NONE_TRIED): CompiledCall | Resting {
  const asked = call.servings[0];
  if (!asked || (call.isSimple && deps.breakers.size === 0)) return call;
  if (call.isSimple) {
    const isResting = deps.breakers.admission(asked.target.id, deps.clock.nowMs()) === "refuse";
    return isResting ? { restingMs: restingMs(asked, deps) } : call;
  }
  const first = choiceOf(asked, tried, deps);
  if (!first) return { restingMs: restingMs(asked, deps) };
  const chosen = new Map([[asked.model, first]]);
  return atTargets(call, (serving) => {
    const known = chosen.get(serving.model);
    if (known) return known;
    const target = choiceOf(serving, tried, deps) ?? serving.target;
    chosen.set(serving.model, target);
    return target;
  });
}

/** Notes that a call begins; undefined while nobody has failed, so that calls without trouble cost nothing. */
export function beginAttempt(held: Held, deps: AttemptDeps): BreakerTicket | undefined {
  return deps.breakers.size === 0 ? undefined : deps.breakers.begin(held.serving.target.id, deps.clock.nowMs());
}

export function endAttempt(
  held: Held,
  ticket: BreakerTicket | undefined,
  outcome: CallOutcome,
  deps: AttemptDeps,
): void {
  const nowMs = deps.clock.nowMs();
  if (ticket) {
    deps.breakers.end(ticket, outcome, nowMs);
    return;
  }
  if (typeof outcome === "string") return;
  const late = deps.breakers.begin(held.serving.target.id, nowMs);
  if (late) deps.breakers.end(late, outcome, nowMs);
}

/** Milliseconds to wait before the next attempt, and the targets it should not go to; undefined where none follows. */
export function nextAttempt(
  held: Held,
  failed: AttemptFailure,
  tried: Tried,
  deps: AttemptDeps,
): { readonly delayMs: number; readonly tried: Tried } | undefined {
  const { target, targets } = held.serving;
  const all = new Set([...tried, target.id]);
  const decision = planRetry(
    {
      attempt: held.tries,
      failure: failed.failure,
      retryAfterMs: failed.retryAfterMs,
      hasOther: targets.some(({ id }) => !all.has(id)),
      startedMs: held.caller.startedMs,
      nowMs: deps.clock.nowMs(),
      hasAnswered: false,
    },
    deps.random(),
    deps.retry,
  );
  if (!decision.retry) return undefined;
  // The same one again: it is the only one not to be avoided.
  const avoided =
    decision.where === "other" ? all : new Set(targets.map(({ id }) => id).filter((id) => id !== target.id));
  return { delayMs: decision.delayMs, tried: avoided };
}
