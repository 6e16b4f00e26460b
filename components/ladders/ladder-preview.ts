/** What calls of a class get as their budget fills, worked out by the gateway's own decision. Pure. */
import { decide } from "@/lib/domain/decide";
import type { Plan } from "@/lib/domain/decide";
import { ACTION_KINDS, actionFor, mergePolicies, rungAt } from "@/lib/domain/policy";
import type { ActionKind, PolicyDocument } from "@/lib/domain/policy";
import type { BudgetDocument } from "@/lib/domain/snapshot";

/** `overflow`: served beyond the limit as long as the budget's overflow lasts, then refused. */
export interface LadderStage {
  readonly fromBasisPoints: number;
  readonly kind: ActionKind | "overflow";
  /** Who serves; null where nobody does. */
  readonly model: string | null;
  /** For `protect`. */
  readonly retryAfterSeconds: number | null;
}

export interface PreviewCall {
  /** The model that is asked for. */
  readonly model: string;
  readonly trafficClass: string;
  readonly isVip: boolean;
  /** Models that could serve. */
  readonly models: readonly string[];
}

const FULL = 10_000;

function budgetOn(ladder: string): BudgetDocument {
  return {
    ...{ id: "preview", consumerId: null, apiKeyId: null, name: "", meter: "cost", periodKind: "month", ladder },
    ...{ enforcement: "enforce", environment: null, models: [], classes: [], perEndUser: false },
  };
}

function stageOf(fromBasisPoints: number, plan: Plan | undefined, retryAfterSeconds: number | null): LadderStage {
  if (plan === undefined) return { fromBasisPoints, kind: "refuse", model: null, retryAfterSeconds: null };
  if (plan.kind === "serve")
    return { fromBasisPoints, kind: plan.decision, model: plan.model, retryAfterSeconds: null };
  const isProtected = plan.action === "protect";
  return { fromBasisPoints, kind: plan.action, model: null, retryAfterSeconds: isProtected ? retryAfterSeconds : null };
}

function isSame(one: LadderStage | undefined, other: LadderStage): boolean {
  return one?.kind === other.kind && one.model === other.model && one.retryAfterSeconds === other.retryAfterSeconds;
}

/**
 * The stages of one class under an enforced budget, lowest first. Where nothing is said below the first rung calls pass; at the
 * limit a rung that would serve does not, since nothing is let through past a limit but from the overflow.
 */
export function stagesOf(document: PolicyDocument, ladderName: string, call: PreviewCall): readonly LadderStage[] {
  const ladder = document.ladders?.[ladderName];
  const { models, isVip, model, trafficClass } = call;
  const { budgets, plans } = decide({
    policy: mergePolicies([document]),
    budgets: [budgetOn(ladderName)],
    scope: { model, trafficClass, environment: "production" },
    isVip,
    canServe: (name) => models.includes(name),
  });
  const [planned] = budgets;
  if (ladder === undefined || planned === undefined) return [];
  const marks = [...new Set([0, ...planned.steps.map((step) => step.atBasisPoints), FULL])].sort((a, b) => a - b);
  const stages = marks.map((at): LadderStage => {
    const step = planned.steps.findLast((one) => one.atBasisPoints <= at);
    const plan = plans[step?.plan ?? ACTION_KINDS.indexOf("pass")];
    const rung = rungAt(ladder, at);
    const stage = stageOf(
      at,
      plan,
      rung === undefined ? null : (actionFor(rung, trafficClass).retryAfterSeconds ?? null),
    );
    if (at < FULL || (plan?.kind === "deny" && plan.action !== "refuse")) return stage;
    const overflow = planned.overflowPlan === null ? undefined : plans[planned.overflowPlan];
    if (overflow?.kind !== "serve") return { ...stage, kind: "refuse", model: null };
    return { ...stage, kind: "overflow", model: overflow.model };
  });
  return stages.filter((stage, index) => !isSame(stages[index - 1], stage));
}

/** What is likely no intention. `trafficClass` and the mark where the finding is of one. */
export type LadderFinding =
  | { readonly kind: "milder"; readonly trafficClass: string; readonly atBasisPoints: number }
  | { readonly kind: "downgrade_unmapped" | "defer_unkept" };

/** A rung that is milder than the one below, a downgrade that changes nothing, a deferral that the policy does not keep. */
export function findingsOf(
  document: PolicyDocument,
  ladderName: string,
  call: Omit<PreviewCall, "trafficClass">,
  classes: readonly string[],
): readonly LadderFinding[] {
  const ladder = document.ladders?.[ladderName];
  if (ladder === undefined) return [];
  const kinds = ladder.rungs.flatMap((rung) => classes.map((one) => actionFor(rung, one).kind));
  const strictness = (kind: ActionKind): number => ACTION_KINDS.indexOf(kind);
  const milder = classes.flatMap((trafficClass) =>
    ladder.rungs.flatMap((rung, index): LadderFinding[] => {
      const below = ladder.rungs[index - 1];
      if (below === undefined) return [];
      const isMilder = strictness(actionFor(rung, trafficClass).kind) < strictness(actionFor(below, trafficClass).kind);
      return isMilder ? [{ kind: "milder", trafficClass, atBasisPoints: rung.atBasisPoints }] : [];
    }),
  );
  const isUnmapped = !classes.some((trafficClass) =>
    stagesOf(document, ladderName, { ...call, trafficClass }).some((stage) => stage.kind === "downgrade"),
  );
  return [
    ...milder,
    ...(kinds.includes("downgrade") && isUnmapped ? [{ kind: "downgrade_unmapped" as const }] : []),
    ...(kinds.includes("defer") && document.deferral === undefined ? [{ kind: "defer_unkept" as const }] : []),
  ];
}
