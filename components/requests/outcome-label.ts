/** Which message names an outcome of a settled call or the code of a call that is not in the ledger. Pure. */
import { REFUSAL_CODES } from "@/lib/contracts/requests";
import { OUTCOMES } from "@/lib/domain/usage-event";
import type { Outcome } from "@/lib/domain/usage-event";

const SCOPES = ["ORGANIZATION", "DEPARTMENT", "TEAM", "APP", "USER", "KEY", "SESSION"] as const;
const SCOPED = new RegExp(`^(${SCOPES.join("|")})_(BUDGET|QUOTA)_EXHAUSTED$`, "u");

export type OutcomeLabel =
  | { readonly key: `settled.${Outcome}` | `codes.${(typeof REFUSAL_CODES)[number]}` }
  | { readonly key: "budgetGone" | "quotaGone"; readonly scope: (typeof SCOPES)[number] };

/** Below `outcomes`; undefined for a code that this version does not know. */
export function outcomeLabel(code: string): OutcomeLabel | undefined {
  const scoped = SCOPED.exec(code);
  const scope = SCOPES.find((one) => one === scoped?.[1]);
  if (scope !== undefined) return { key: scoped?.[2] === "BUDGET" ? "budgetGone" : "quotaGone", scope };
  const outcome = OUTCOMES.find((one) => one === code);
  if (outcome !== undefined) return { key: `settled.${outcome}` };
  // On the wire some codes are written in capitals.
  const known = REFUSAL_CODES.find((one) => one === code.toLowerCase());
  return known === undefined ? undefined : { key: `codes.${known}` };
}
