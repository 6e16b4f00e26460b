/**
 * What one gateway process knows of its calls: open ones (renewed each second), ends that the store has not taken yet
 * (retried), and ends that the store has but the ledger may not (announced again if Redis loses its latest writes).
 */
import type { Settlement } from "@/lib/gateway/ports";
import { Rush } from "./rush";

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

/** Id of a stream entry, as numbers. */
export interface StreamPosition {
  readonly ms: number;
  readonly sequence: number;
}

/** Ends that the store took together. */
export interface BookedLater {
  readonly calls: readonly OpenCall[];
  /** Of the last of their usage events; undefined for voids, which are kept for a while only. */
  position: StreamPosition | undefined;
  readonly sinceMs: number;
}

/** Voids leave no ledger row to wait for; a Redis that loses more than this has lost its data. */
const VOID_MEMORY_MS = 15_000;
/** Beyond this the oldest are forgotten here: they stand in Redis's own log and are swept or reconciled. */
const MAX_REMEMBERED = 200_000;

export interface OrganisationCalls {
  readonly open: Map<string, OpenCall>;
  readonly rush: Rush;
  /** In the order of their stream ids, but for the odd late reply. */
  readonly unbooked: BookedLater[];
  /** Calls in them. */
  unbookedCount: number;
  /** Run id of the server on which all of the above was written, or to which it was announced. */
  server: string | undefined;
  activeUntilMs: number;
  /** More usage events wait for the ledger than are to wait there. */
  isOverfull: boolean;
}

export function createOrganisationCalls(server: string | undefined): OrganisationCalls {
  return {
    open: new Map(),
    rush: new Rush(),
    unbooked: [],
    unbookedCount: 0,
    server,
    activeUntilMs: 0,
    isOverfull: false,
  };
}

export function rememberEnds(calls: OrganisationCalls, ended: BookedLater): void {
  if (ended.calls.length === 0) return;
  calls.unbooked.push(ended);
  calls.unbookedCount += ended.calls.length;
  while (calls.unbookedCount > MAX_REMEMBERED) calls.unbookedCount -= calls.unbooked.shift()?.calls.length ?? 0;
}

export function streamPosition(streamId: string): StreamPosition {
  const [ms = "0", sequence = "0"] = streamId.split("-");
  return { ms: Number(ms), sequence: Number(sequence) };
}

function isAtOrBefore(left: StreamPosition, right: StreamPosition): boolean {
  return left.ms === right.ms ? left.sequence <= right.sequence : left.ms < right.ms;
}

export function laterOf(left: StreamPosition | undefined, right: StreamPosition): StreamPosition {
  return left === undefined || isAtOrBefore(left, right) ? right : left;
}

/** Forgets ends that stand in Postgres (stream id at or before `booked`) and voids that are old enough. */
export function forgetBooked(calls: OrganisationCalls, booked: string, nowMs: number): void {
  const watermark = booked === "" ? undefined : streamPosition(booked);
  const isDone = ({ position, sinceMs }: BookedLater): boolean =>
    position === undefined
      ? nowMs - sinceMs > VOID_MEMORY_MS
      : watermark !== undefined && isAtOrBefore(position, watermark);
  // What follows the first that must stay is younger.
  const end = calls.unbooked.findIndex((ended) => ended.position !== undefined && !isDone(ended));
  const older = calls.unbooked.splice(0, end === -1 ? calls.unbooked.length : end);
  const kept = older.filter((ended) => !isDone(ended));
  calls.unbooked.unshift(...kept);
  for (const ended of older) calls.unbookedCount -= ended.calls.length;
  for (const ended of kept) calls.unbookedCount += ended.calls.length;
}
