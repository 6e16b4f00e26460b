/** The breakers of all deployments this process has called: a bounded map around the reducer. */
import type { BreakerAdmission, BreakerSettings, BreakerState } from "./breaker";
import { admission, breakerAfter, closedBreaker, DEFAULT_BREAKER, nextAdmissionMs } from "./breaker";
import type { UpstreamErrorClass } from "./upstream-error";

const MAX_BREAKERS = 10_000;

/** A call under way; given back with its outcome, once. */
export interface BreakerTicket {
  readonly deploymentId: string;
  readonly generation: number;
}

/** `neutral` for what says nothing of the deployment: the client left, or the caller's mistake. */
export type CallOutcome = "succeeded" | "neutral" | UpstreamErrorClass;

export class Breakers {
  /** In the order of last use: the first is the one to forget. A closed breaker that is forgotten begins anew, which is what it is. */
  private readonly states = new Map<string, BreakerState>();

  constructor(
    private readonly settings: BreakerSettings = DEFAULT_BREAKER,
    private readonly maxBreakers: number = MAX_BREAKERS,
  ) {}

  admission(deploymentId: string, nowMs: number): BreakerAdmission {
    const state = this.states.get(deploymentId);
    return state ? admission(state, nowMs, this.settings) : "pass";
  }

  nextAdmissionMs(deploymentId: string, nowMs: number): number {
    const state = this.states.get(deploymentId);
    return state ? nextAdmissionMs(state, nowMs, this.settings) : nowMs;
  }

  /** Notes that a call begins; undefined where the breaker does not let it. */
  begin(deploymentId: string, nowMs: number): BreakerTicket | undefined {
    if (this.admission(deploymentId, nowMs) === "refuse") return undefined;
    const before = this.states.get(deploymentId) ?? closedBreaker(nowMs);
    const state = breakerAfter(before, { type: "began", nowMs }, this.settings);
    this.keep(deploymentId, state);
    return { deploymentId, generation: state.generation };
  }

  end(ticket: BreakerTicket, outcome: CallOutcome, nowMs: number): void {
    const state = this.states.get(ticket.deploymentId);
    if (!state) return;
    const event = { type: eventType(outcome), generation: ticket.generation, nowMs };
    this.keep(ticket.deploymentId, breakerAfter(state, event, this.settings));
  }

  get size(): number {
    return this.states.size;
  }

  private keep(deploymentId: string, state: BreakerState): void {
    this.states.delete(deploymentId);
    if (this.states.size >= this.maxBreakers) this.forgetOne();
    this.states.set(deploymentId, state);
  }

  /** The longest unused closed one; where all are open, the longest unused. */
  private forgetOne(): void {
    let oldest: string | undefined;
    for (const [id, state] of this.states) {
      oldest ??= id;
      if (state.phase !== "closed") continue;
      oldest = id;
      break;
    }
    if (oldest !== undefined) this.states.delete(oldest);
  }
}

function eventType(outcome: CallOutcome): "succeeded" | "failed" | "neutral" | "tripped" {
  if (typeof outcome === "string") return outcome;
  if (!outcome.tripsBreaker) return "neutral";
  // One answer proves it: waiting for more would only spend the callers' time.
  const isProof = outcome.kind === "money" || outcome.kind === "auth";
  return isProof ? "tripped" : "failed";
}
