/**
 * Whether another attempt follows one that failed, and where it may go: other deployments of the model, other models, the same
 * one again, with waits and jitter (lib/routing). Each attempt is a reservation and a fact of its own.
 */
import type { BreakerTicket, CallOutcome } from "@/lib/routing/breakers";
import type { RetryPlace, RetrySettings } from "@/lib/routing/retry-plan";
import { planRetry } from "@/lib/routing/retry-plan";
import type { FailedBefore, Held } from "./exchange";
import type { Serving } from "./serving";
import { failedMeasure, NO_COST, settlementOf } from "./stages/settle";
import type { AttemptFailure } from "./stages/upstream-error";
import type { Avoided, Routing, TargetDeps } from "./targets";
import { hasOwnTarget, hasPlace } from "./targets";

export interface AttemptDeps extends TargetDeps {
  readonly retry: RetrySettings;
}

/** An attempt that follows. */
export interface Following {
  readonly failed: Held;
  readonly before: readonly FailedBefore[];
  readonly avoided: Avoided;
  /** What the failed attempt's end adds to its usage event. */
  readonly resultJson: string;
}

/** Notes that a call begins; undefined while nobody has failed, so that calls without trouble cost nothing. */
export function beginAttempt(held: Held, deps: AttemptDeps): BreakerTicket | undefined {
  return deps.breakers.size === 0 ? undefined : deps.breakers.begin(held.serving.target, deps.clock.nowMs());
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
  const late = deps.breakers.begin(held.serving.target, nowMs);
  if (late) deps.breakers.end(late, outcome, nowMs);
}

function avoidedNext(where: RetryPlace, { target, targets }: Serving, avoided: Avoided): Avoided {
  if (where === "other") return new Set([...avoided, target.id]);
  const all = targets.map(({ id }) => id);
  // The same one again: it is the only one of its model not to be avoided.
  return new Set([...avoided, ...(where === "fallback" ? all : all.filter((id) => id !== target.id))]);
}

/** What follows a failed attempt, after so many milliseconds; undefined where nothing does. */
export function nextAttempt(
  held: Held,
  failed: AttemptFailure,
  avoided: Avoided,
  routing: Routing,
  deps: AttemptDeps,
): { readonly delayMs: number; readonly following: Following } | undefined {
  const { serving } = held;
  const model = serving.model.name;
  const decision = planRetry(
    {
      attempt: held.before.filter((one) => one.model === model).length + 1,
      attemptInAll: held.before.length + 1,
      failure: failed.failure,
      retryAfterMs: failed.retryAfterMs,
      hasOther: hasOwnTarget(serving, avoidedNext("other", serving, avoided), routing, deps),
      hasFallback: hasPlace(avoidedNext("fallback", serving, avoided), routing, deps),
      startedMs: held.caller.startedMs,
      nowMs: deps.clock.nowMs(),
      hasAnswered: false,
    },
    deps.random(),
    deps.retry,
  );
  if (!decision.retry) return undefined;
  const fact = { model, deploymentId: serving.target.id, failure: failed.failure.kind, status: failed.status };
  const following = {
    failed: held,
    before: [...held.before, fact],
    avoided: avoidedNext(decision.where, serving, avoided),
    resultJson: settlementOf(held, failedMeasure(failed.failure.kind, failed.status), NO_COST, deps.clock.nowMs())
      .resultJson,
  };
  return { delayMs: decision.delayMs, following };
}
