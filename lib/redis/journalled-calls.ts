/**
 * Calls on disk: those that were let through while the store was away, and ends that it has not taken. The journal keeps texts;
 * what they say of a call is here.
 */
import { expiryOf } from "@/lib/domain/expiry";
import { usageEventHead } from "@/lib/domain/usage-event";
import type { Settlement } from "@/lib/gateway/ports";
import { settlementOfEvent } from "./event-settlement";
import type { OpenCall } from "./open-reservations";
import { heldLines } from "./sweeper";

/** Small texts by id that outlive the process (lib/journal). */
export interface CallJournal {
  readonly size: number;
  has(id: string): boolean;
  /** False where there is no room: nothing is written then. */
  append(id: string, text: string): boolean;
  remove(id: string): void;
  /** The sign of life by which other processes know that this one has not left its texts behind. */
  beat(): void;
  /** What processes that are gone have left, in their order; it is in this journal from then on. Never rejects. */
  takeOrphans(): Promise<readonly { readonly id: string; readonly text: string }[]>;
  close(): void;
}

interface CallText {
  readonly organisationId: string;
  readonly counters: string;
  readonly amounts: string;
  readonly head: unknown;
}

interface EndText {
  readonly settlement: Settlement | null;
}

export interface LeftCall {
  readonly organisationId: string;
  readonly call: OpenCall;
}

export class JournalledCalls {
  constructor(private readonly journal: CallJournal | undefined) {}

  get count(): number {
    return this.journal?.size ?? 0;
  }

  has(reservationId: string): boolean {
    return this.journal?.has(reservationId) ?? false;
  }

  /** Notes a call that is about to be sent, or what it holds by now. False where there is no room, or no journal. */
  note(organisationId: string, call: OpenCall): boolean {
    const { counters, amounts, headJson } = call;
    // The head is JSON already.
    const opening = JSON.stringify({ organisationId, counters, amounts }).slice(0, -1);
    return this.journal?.append(call.reservationId, `${opening},"head":${headJson}}`) ?? false;
  }

  /** Notes how a call ended, and the call itself where only the store had it. Of one that was never sent nothing is said. */
  noteEnd(organisationId: string, call: OpenCall): void {
    if (!call.end || call.headJson === "") return;
    if (!this.has(call.reservationId) && !this.note(organisationId, call)) return;
    const text: EndText = call.end;
    this.journal?.append(call.reservationId, JSON.stringify(text));
  }

  /** The store has its end. */
  delivered(reservationId: string): void {
    if (this.count > 0) this.journal?.remove(reservationId);
  }

  beat(): void {
    this.journal?.beat();
  }

  close(): void {
    this.journal?.close();
  }

  /** Calls of processes that are gone, ended as they were, or as nobody knows how. They are this process's then. Never rejects. */
  async takeLeft(nowMs: number): Promise<LeftCall[]> {
    const calls = new Map<string, LeftCall>();
    for (const { id, text } of (await this.journal?.takeOrphans()) ?? []) {
      const value = JSON.parse(text) as CallText | EndText;
      if ("head" in value) calls.set(id, leftCall(id, value));
      else {
        const known = calls.get(id);
        if (known) known.call.end = { settlement: value.settlement };
      }
    }
    for (const { organisationId, call } of calls.values()) {
      call.end ??= { settlement: estimatedEnd(organisationId, call, nowMs) };
    }
    return [...calls.values()];
  }
}

function leftCall(reservationId: string, { organisationId, counters, amounts, head }: CallText): LeftCall {
  const taken = { rungBasisPoints: 0, isOverflow: false, extension: 0, usageJson: "", end: undefined };
  return { organisationId, call: { reservationId, counters, amounts, headJson: JSON.stringify(head), ...taken } };
}

/** As a reservation expires whose process died: at the hold, estimated, until the provider's bill says better. */
function estimatedEnd(organisationId: string, call: OpenCall, nowMs: number): Settlement {
  const head = usageEventHead.parse(JSON.parse(call.headJson));
  const lines = heldLines(organisationId, call.counters, call.amounts);
  const reservation = { head, lines, counted: null, rungBasisPoints: 0, isOverflow: false };
  const { event } = expiryOf(reservation, () => null, nowMs);
  return settlementOfEvent(event, event);
}
