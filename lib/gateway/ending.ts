/** A reservation ends exactly once, whoever comes first: the answer, the client hanging up, an error, the last resort. */
import type { Outcome } from "@/lib/domain/usage-event";
import type { UpstreamErrorKind } from "@/lib/routing/upstream-error";
import type { Held } from "./exchange";
import type { BudgetLedger, TokenEstimator } from "./ports";
import type { Cost, Measured } from "./stages/settle";
import { conclude, costOfHold, failedMeasure, NO_COST, unknownUsage } from "./stages/settle";
import type { Slices } from "./stages/slices";
import type { AttemptFailure } from "./stages/upstream-error";
import { noteUnseen } from "./stages/visible-output";

export interface Ending {
  readonly isOver: () => boolean;
  /** Books what was measured. `cost` spares pricing it twice. */
  settle(measured: Measured, cost?: Cost): Promise<void>;
  /** For a reservation under which nothing was sent. */
  void(): Promise<void>;
  /** For an attempt that failed and provably cost nothing. */
  failed(failure: AttemptFailure): Promise<void>;
  /** For an attempt whose end nobody saw: booked as the policy says, estimated, corrected by the bill. */
  unknown(statusCode: number | null, failure?: UpstreamErrorKind): Promise<void>;
  /** How it ended; undefined while it stands. */
  readonly outcome: () => Outcome | "void" | undefined;
  /** Settles when the reservation has ended, in whatever way. */
  readonly over: Promise<void>;
}

/** More was billed than had shown itself: holds of that deployment follow its streams no more. */
function noteOverrun({ serving }: Held, slices: Slices, { usage }: Measured): void {
  if (usage.outputTokens > slices.held.outputTokens) noteUnseen(serving.target.id);
}

export interface EndingDeps {
  readonly ledger: BudgetLedger;
  readonly clock: { nowMs(): number };
  readonly estimator?: TokenEstimator | undefined;
}

export function createEnding(held: Held, deps: EndingDeps): Ending {
  let ended: Promise<void> | undefined;
  let outcome: Outcome | "void" | undefined;
  let signal: (value: Promise<void>) => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    signal = resolve;
  });
  const conclusion = (measured: Measured | null, cost: Cost | null): Promise<void> =>
    conclude(held, measured, cost, deps.clock.nowMs(), deps.ledger);
  const unknown = (statusCode: number | null, failure?: UpstreamErrorKind): Measured => ({
    usage: unknownUsage(held),
    isEstimated: true,
    outcome: "unknown",
    statusCode,
    firstByteMs: null,
    ...(failure === undefined ? {} : { failure }),
  });
  const end = (measured: Measured | null, cost: Cost | null): Promise<void> => {
    if (!ended) {
      outcome = measured?.outcome ?? "void";
      const unpriced = (price: Cost | null) => conclusion(unknown(measured?.statusCode ?? null), price);
      // Usage that cannot be priced (a provider's nonsense) must not leave the money held for ever, nor a price that covers nothing.
      ended = conclusion(measured, cost)
        .catch(() => unpriced(null))
        .catch(() => unpriced(costOfHold(held)));
      signal(ended);
    }
    return ended;
  };
  return {
    over,
    isOver: () => ended !== undefined,
    outcome: () => outcome,
    settle: (measured, cost) => {
      const { counted } = held;
      if (counted && !measured.isEstimated) {
        deps.estimator?.settled(counted.estimate, counted.count, measured.usage.inputTokens);
      }
      if (held.slices && !measured.isEstimated) noteOverrun(held, held.slices, measured);
      return end(measured, cost ?? null);
    },
    void: () => end(null, null),
    failed: ({ failure, status }) => end(failedMeasure(failure.kind, status), NO_COST),
    unknown: (statusCode, failure) => end(unknown(statusCode, failure), null),
  };
}
