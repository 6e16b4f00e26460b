/** Ends of calls to the keys and arguments of conclude-n.lua, and its replies back. */
import type { Settlement } from "@/lib/gateway/ports";
import { keysOf } from "./keys";

/** A settlement, or null for a void. */
export interface CallEnd {
  readonly reservationId: string;
  readonly settlement: Settlement | null;
  /** Head of the usage event as JSON, for a settlement whose reservation is not open any more; "" otherwise. */
  readonly lateHeadJson: string;
}

export interface Concluded {
  /**
   * `fenced`: nothing was written. `already` covers an earlier delivery whose answer was lost. `late`: nothing was open, and
   * a settlement without its head wrote nothing (no stream id).
   */
  readonly outcome: "done" | "already" | "late" | "fenced";
  /** Of the usage event that was appended; "" where none was. */
  readonly streamId: string;
}

const VOID = ["", "", "", "", "", "", "", ""];
/** By result code of conclude-n.lua. */
const OUTCOMES = ["done", "already", "late", "fenced", "already"] as const;

/** All ends are of one organisation. */
export function concludeCommand(
  organisationId: string,
  ends: readonly CallEnd[],
  runId: string,
): { readonly keys: string[]; readonly args: string[] } {
  const keys = keysOf(organisationId);
  const reservations: string[] = [];
  const books: string[] = [];
  const args = [runId];
  for (const { reservationId, settlement, lateHeadJson } of ends) {
    const reservation = keys.reservation(reservationId);
    reservations.push(reservation);
    books.push(settlement === null ? reservation : keys.book(settlement.day));
    args.push(reservationId);
    if (settlement === null) args.push(...VOID);
    else {
      args.push(
        settlement.cost,
        String(settlement.inputTokens),
        String(settlement.outputTokens),
        String(settlement.inputTokens + settlement.outputTokens),
        settlement.priceCurrency,
        settlement.priceAmount,
        settlement.resultJson,
        lateHeadJson,
      );
    }
  }
  return { keys: [keys.generation, keys.deadlines, keys.usage, ...reservations, ...books], args };
}

/** One a call, in the order of the ends. */
export function concludedOf(reply: readonly (string | number | null)[]): Concluded[] {
  const concluded: Concluded[] = [];
  for (let index = 0; index + 1 < reply.length; index += 2) {
    const outcome = OUTCOMES[Number(reply[index])];
    if (outcome === undefined) throw new Error(`unknown reply of conclude: ${String(reply[index])}`);
    concluded.push({ outcome, streamId: String(reply[index + 1] ?? "") });
  }
  return concluded;
}
