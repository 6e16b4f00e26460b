/**
 * The breakers of all deployments this process has called, and of the accounts they are called with: a bounded map around the
 * reducer. An account without money, or whose key is refused, is out with all its deployments, and for longer.
 */
import type { BreakerAdmission, BreakerEvent, BreakerSettings, BreakerState } from "./breaker";
import { admission, breakerAfter, closedBreaker, DEFAULT_BREAKER, nextAdmissionMs } from "./breaker";
import type { UpstreamErrorClass } from "./upstream-error";

const MAX_BREAKERS = 10_000;

/** Somebody has to pay, or to enter a key: asking every few seconds brings neither. */
const DEFAULT_ACCOUNT_BREAKER: BreakerSettings = { ...DEFAULT_BREAKER, openMs: 30_000, maxOpenMs: 600_000 };

/** A deployment and the account it is called with. Ids of both never meet. */
export interface CalledPlace {
  readonly id: string;
  readonly provider: { readonly id: string };
}

/** A call under way; given back with its outcome, once. */
export interface BreakerTicket {
  readonly place: CalledPlace;
  readonly generation: number;
  /** Of the account's breaker. */
  readonly accountGeneration: number;
}

/** `neutral` for what says nothing of the deployment: the client left, or the caller's mistake. */
export type CallOutcome = "succeeded" | "neutral" | UpstreamErrorClass;

export class Breakers {
  /** In the order of last use: the first is the one to forget. A closed breaker that is forgotten begins anew, which is what it is. */
  private readonly states = new Map<string, BreakerState>();

  constructor(
    private readonly settings: BreakerSettings = DEFAULT_BREAKER,
    private readonly accountSettings: BreakerSettings = DEFAULT_ACCOUNT_BREAKER,
    private readonly maxBreakers: number = MAX_BREAKERS,
  ) {}

  admission({ id, provider }: CalledPlace, nowMs: number): BreakerAdmission {
    const own = this.admissionOf(id, nowMs, this.settings);
    return own === "refuse" ? own : stricter(own, this.admissionOf(provider.id, nowMs, this.accountSettings));
  }

  nextAdmissionMs({ id, provider }: CalledPlace, nowMs: number): number {
    const own = this.states.get(id);
    const account = this.states.get(provider.id);
    return Math.max(
      own ? nextAdmissionMs(own, nowMs, this.settings) : nowMs,
      account ? nextAdmissionMs(account, nowMs, this.accountSettings) : nowMs,
    );
  }

  /** Notes that a call begins; undefined where a breaker does not let it. */
  begin(place: CalledPlace, nowMs: number): BreakerTicket | undefined {
    if (this.admission(place, nowMs) === "refuse") return undefined;
    const { id, provider } = place;
    const own = breakerAfter(this.states.get(id) ?? closedBreaker(nowMs), { type: "began", nowMs }, this.settings);
    this.keep(id, own);
    const account = this.states.get(provider.id);
    if (!account) return { place, generation: own.generation, accountGeneration: 0 };
    const begun = breakerAfter(account, { type: "began", nowMs }, this.accountSettings);
    this.keep(provider.id, begun);
    return { place, generation: own.generation, accountGeneration: begun.generation };
  }

  end({ place, generation, accountGeneration }: BreakerTicket, outcome: CallOutcome, nowMs: number): void {
    const { id, provider } = place;
    const own = this.states.get(id);
    if (own) {
      const event = { type: typeOf(outcome), generation, nowMs };
      this.keep(id, breakerAfter(own, event, this.settings));
    }
    const type = accountTypeOf(outcome);
    // Accounts that never had trouble are not looked at.
    const account = this.states.get(provider.id) ?? (type === "tripped" ? closedBreaker(nowMs) : undefined);
    if (!account) return;
    const event = { type, generation: accountGeneration, nowMs };
    this.keep(provider.id, breakerAfter(account, event, this.accountSettings));
  }

  get size(): number {
    return this.states.size;
  }

  private admissionOf(id: string, nowMs: number, settings: BreakerSettings): BreakerAdmission {
    const state = this.states.get(id);
    return state ? admission(state, nowMs, settings) : "pass";
  }

  private keep(id: string, state: BreakerState): void {
    this.states.delete(id);
    if (this.states.size >= this.maxBreakers) this.forgetOne();
    this.states.set(id, state);
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

type EndType = Exclude<BreakerEvent["type"], "began">;

function stricter(one: BreakerAdmission, other: BreakerAdmission): BreakerAdmission {
  return other === "pass" ? one : other;
}

/** One answer proves that there is no money or no key: waiting for more would only spend the callers' time. */
function typeOf(outcome: CallOutcome): EndType {
  if (typeof outcome === "string") return outcome;
  // The account is out with all its deployments, and this one of itself may be well.
  if (!outcome.tripsBreaker || outcome.isOfAccount) return "neutral";
  return outcome.kind === "money" ? "tripped" : "failed";
}

/** A server that broke says nothing of the account. */
function accountTypeOf(outcome: CallOutcome): EndType {
  if (typeof outcome === "string") return outcome;
  return outcome.isOfAccount ? "tripped" : "neutral";
}
