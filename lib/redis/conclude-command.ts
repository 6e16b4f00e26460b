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

const VOID = ["", "", ""];
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
  const books = new Map<string, number>();
  const args = [runId, String(ends.length)];
  for (const { reservationId, settlement, lateHeadJson } of ends) {
    reservations.push(keys.reservation(reservationId));
    args.push(reservationId);
    if (settlement === null) args.push(...VOID);
    else args.push(amountsText(settlement, bookNumber(books, settlement.day)), settlement.resultJson, lateHeadJson);
  }
  const bookKeys = [...books.keys()].map((day) => keys.book(day));
  return { keys: [keys.generation, keys.deadlines, keys.usage, keys.booked, ...reservations, ...bookKeys], args };
}

function bookNumber(books: Map<string, number>, day: string): number {
  const known = books.get(day);
  if (known !== undefined) return known;
  books.set(day, books.size + 1);
  return books.size;
}

function amountsText(
  { cost, inputTokens, outputTokens, requests, priceCurrency, priceAmount }: Settlement,
  book: number,
): string {
  const many = requests === undefined ? "" : ` ${String(requests)}`;
  return `${cost} ${String(inputTokens)} ${String(outputTokens)} ${String(inputTokens + outputTokens)} ${priceCurrency} ${priceAmount} ${String(book)}${many}`;
}

/** What became of each end, in their order, and the id up to which the stream is booked ("" for none). */
export function concludedOf(reply: string): { readonly booked: string; readonly ends: Concluded[] } {
  const words = reply.split(" ");
  const concluded: Concluded[] = [];
  for (let index = 1; index + 1 < words.length; index += 2) {
    const outcome = OUTCOMES[Number(words[index])];
    if (outcome === undefined) throw new Error(`unknown reply of conclude: ${String(words[index])}`);
    const streamId = words[index + 1] ?? "-";
    concluded.push({ outcome, streamId: streamId === "-" ? "" : streamId });
  }
  const booked = words[0] ?? "-";
  return { booked: booked === "-" ? "" : booked, ends: concluded };
}
