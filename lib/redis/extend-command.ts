/** A raise of what one call holds to the keys and arguments of extend-n.lua, and its reply back. */
import type { ExtendInput, ExtendOutcome } from "@/lib/gateway/ports";
import { keysOf } from "./keys";
import { budgetTerms, planText, reading } from "./reserve-command";
import type { ScriptReply } from "./scripts";
import { numberAt } from "./scripts";

export function extendCommand(
  input: ExtendInput,
  runId: string,
  nowMs: string,
): { readonly keys: string[]; readonly args: string[] } {
  const keys = keysOf(input.organisationId);
  const budgets = budgetTerms(input.organisationId, input.budgets);
  return {
    keys: [keys.epoch, keys.generation, keys.reservation(input.reservationId), ...budgets.keys],
    args: [
      runId,
      nowMs,
      input.epoch,
      String(input.sequence),
      budgets.text,
      planText(input.amounts),
      input.headJson,
      JSON.stringify(input.usage),
    ],
  };
}

/** Result codes of extend-n.lua, named once. */
export function extendOutcome(reply: ScriptReply): ExtendOutcome {
  const budget = numberAt(reply, 1) - 1;
  switch (numberAt(reply, 0)) {
    case 0:
    case 1:
      return { code: "extended", isOverflow: numberAt(reply, 1) === 1 };
    case 2:
      return { code: "stale" };
    case 3:
      return { code: "fenced" };
    case 4:
      return { code: "ended" };
    case 6:
      return { code: "exhausted", binding: reading(reply, 1) };
    case 7:
      return { code: "frozen", budget };
    case 11:
      return { code: "too_large", budget };
    case 12:
      return { code: "unknown_budget", budget };
    default:
      throw new Error(`unknown reply of extend: ${String(reply[0])}`);
  }
}

/** Amounts as a reservation keeps them, after a raise. */
export function raisedAmounts(held: string, more: readonly (string | null)[]): string {
  const amounts = held.trimEnd().split(" ");
  return planText(
    amounts.map((amount, index) => (amount === "-" ? null : String(BigInt(amount) + BigInt(more[index] ?? "0")))),
  );
}
