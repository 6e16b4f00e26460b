/**
 * What a call of the past would have got under a policy, by the ladder and the fullness of the budget that decided about it then. Other
 * budgets, and what the change itself would have saved or spent, are not worked out: this tells what a version treats otherwise.
 */
import type { ActionKind, EffectivePolicy } from "./policy";
import { actionFor, downgradeTarget, isModelAllowed, rungAt } from "./policy";

export interface PastCall {
  readonly model: string;
  readonly trafficClass: string;
  /** null: no budget with a ladder had a say. */
  readonly ladder: string | null;
  readonly ratioBasisPoints: number | null;
}

export interface ReplayedOutcome {
  readonly kind: ActionKind | "not_allowed";
  /** Who would have served; null where nobody would have. */
  readonly model: string | null;
}

export function replay(policy: EffectivePolicy, call: PastCall): ReplayedOutcome {
  const { model, trafficClass, ladder, ratioBasisPoints } = call;
  if (!isModelAllowed(policy, model, trafficClass)) return { kind: "not_allowed", model: null };
  const rung = ladder === null ? undefined : rungAt(policy.ladders[ladder], ratioBasisPoints ?? 0);
  const kind = rung === undefined ? "pass" : actionFor(rung, trafficClass).kind;
  if (kind === "pass") return { kind, model };
  if (kind !== "downgrade") return { kind, model: null };
  const cheaper = downgradeTarget(policy, model);
  return cheaper === undefined || !isModelAllowed(policy, cheaper, trafficClass)
    ? { kind: "pass", model }
    : { kind, model: cheaper };
}
