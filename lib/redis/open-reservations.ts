/**
 * What one gateway process knows of its calls: open ones (renewed each second), ends that the store has not taken yet
 * (retried), and ends that the store has but the ledger may not (announced again if Redis loses its latest writes).
 */
import type { Settlement } from "@/lib/gateway/ports";

export interface OpenCall {
  readonly reservationId: string;
  /** As the reserve script packs them, for an announcement. */
  readonly counters: string;
  /** What is held, extensions and all, and the event's head that says so. */
  amounts: string;
  headJson: string;
  /** Rung of the plan that was taken, and whether it used the overflow. */
  readonly rungBasisPoints: number;
  isOverflow: boolean;
  /** Number of the last extension. */
  extension: number;
  usageJson: string;
  /** Undefined while the call runs. */
  end: { readonly settlement: Settlement | null } | undefined;
}

export interface BookedLater {
  readonly call: OpenCall;
  /** Stream id of the usage event; "" for a void, which is kept for a while only. */
  readonly streamId: string;
  readonly sinceMs: number;
}

/** Voids leave no ledger row to wait for; a Redis that loses more than this has lost its data. */
const VOID_MEMORY_MS = 15_000;
/** Beyond this the oldest are forgotten here: they stand in Redis's own log and are swept or reconciled. */
const MAX_REMEMBERED = 200_000;

export interface OrganisationCalls {
  readonly open: Map<string, OpenCall>;
  readonly unbooked: Map<string, BookedLater>;
  /** Run id of the server on which all of the above was written, or to which it was announced. */
  server: string | undefined;
  activeUntilMs: number;
  /** More usage events wait for the ledger than are to wait there. */
  isOverfull: boolean;
}

export function createOrganisationCalls(server: string | undefined): OrganisationCalls {
  return { open: new Map(), unbooked: new Map(), server, activeUntilMs: 0, isOverfull: false };
}

export function rememberEnd(calls: OrganisationCalls, ended: BookedLater): void {
  if (calls.unbooked.size >= MAX_REMEMBERED) {
    const oldest = calls.unbooked.keys().next();
    if (!oldest.done) calls.unbooked.delete(oldest.value);
  }
  calls.unbooked.set(ended.call.reservationId, ended);
}

function isAtOrBefore(streamId: string, watermark: string): boolean {
  const [leftMs = "0", leftSequence = "0"] = streamId.split("-");
  const [rightMs = "0", rightSequence = "0"] = watermark.split("-");
  if (leftMs !== rightMs) return Number(leftMs) < Number(rightMs);
  return Number(leftSequence) <= Number(rightSequence);
}

/** Forgets ends that stand in Postgres (stream id at or before `booked`) and voids that are old enough. */
export function forgetBooked(calls: OrganisationCalls, booked: string, nowMs: number): void {
  // Insertion order is the order of stream ids but for the odd late reply: stop at the first that must stay.
  for (const [id, ended] of calls.unbooked) {
    const isDone =
      ended.streamId === ""
        ? nowMs - ended.sinceMs > VOID_MEMORY_MS
        : booked !== "" && isAtOrBefore(ended.streamId, booked);
    if (!isDone) {
      if (ended.streamId === "") continue;
      break;
    }
    calls.unbooked.delete(id);
  }
}
