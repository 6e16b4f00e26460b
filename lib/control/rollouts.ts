/**
 * Rollouts: one version of a policy beside the active one, exposed to a stable share of consumers. At 0 % nobody is exposed: the
 * version stands in shadow, and the console tells what it would have done (`lib/console/policy-replay.ts`).
 */
import { holdRolloutInput, startRolloutInput } from "@/lib/contracts/policies";
import type { HoldRolloutInput, StartRolloutInput } from "@/lib/contracts/policies";
import {
  findPolicy,
  findRollout,
  insertRollout,
  listOpenRollouts,
  updatePolicy,
  updateRollout,
} from "@/lib/db/policies";
import type { Rollout } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { requireVersionOf } from "./policies";
import { parseInput } from "./validate";

export interface RolloutResult {
  readonly rollout: Rollout;
  readonly auditId: string;
}

interface RolloutRef {
  readonly organisationId: string;
  readonly rolloutId: string;
}

/**
 * Exposes a version to a stable share of consumers, or moves its open exposure to another share. `conflict` while another version is
 * exposed, while this one is held, and for the version in force.
 */
export async function startRollout(
  deps: ControlDeps,
  principal: Principal,
  input: StartRolloutInput & { readonly organisationId: string; readonly policyId: string },
): Promise<RolloutResult> {
  const { organisationId, policyId, ...rest } = input;
  const { policyVersionId, percent } = parseInput(startRolloutInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("policy.write");
    const policy = found(await findPolicy(change.tx, organisationId, policyId));
    await requireVersionOf(change, policyId, policyVersionId);
    if (policy.activeVersionId === policyVersionId) throw new AppError("conflict", "The version is in force already");
    const before = (await listOpenRollouts(change.tx, [policyId]))[0] ?? null;
    if (before !== null && before.policyVersionId !== policyVersionId) {
      throw new AppError("conflict", "Another version is being rolled out");
    }
    if (before?.state === "paused") throw new AppError("conflict", "The rollout is held: release it first");
    const id = newId("rol", change.nowMs);
    const row = { id, organisationId, policyId, policyVersionId, percent, createdById: principal.userId };
    const rollout =
      before === null ? await insertRollout(change.tx, row) : await updateRollout(change.tx, before.id, { percent });
    return written(change, before === null ? "start" : "move", before, rollout);
  });
}

/** Holds the share where it is, so that nobody moves it by mistake, or lets it move again. Exposure does not change. */
export async function holdRollout(
  deps: ControlDeps,
  principal: Principal,
  input: HoldRolloutInput & RolloutRef,
): Promise<RolloutResult> {
  const { organisationId, rolloutId, ...rest } = input;
  const { held } = parseInput(holdRolloutInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const before = await openRollout(change, rolloutId);
    const rollout = await updateRollout(change.tx, rolloutId, { state: held ? "paused" : "running" });
    return written(change, held ? "hold" : "release", before, rollout);
  });
}

/** Takes the exposed version away from everybody, at once. */
export async function abortRollout(deps: ControlDeps, principal: Principal, input: RolloutRef): Promise<RolloutResult> {
  return changeOrganisation(deps, principal, input.organisationId, async (change) => {
    const before = await openRollout(change, input.rolloutId);
    const rollout = await updateRollout(change.tx, before.id, { state: "aborted" });
    return written(change, "abort", before, rollout);
  });
}

/** Makes the exposed version the active one for everybody. */
export async function completeRollout(
  deps: ControlDeps,
  principal: Principal,
  input: RolloutRef,
): Promise<RolloutResult> {
  return changeOrganisation(deps, principal, input.organisationId, async (change) => {
    const before = await openRollout(change, input.rolloutId);
    const rollout = await updateRollout(change.tx, before.id, { state: "completed" });
    await updatePolicy(change.tx, before.policyId, { activeVersionId: before.policyVersionId });
    return written(change, "complete", before, rollout);
  });
}

async function openRollout(change: Change, rolloutId: string): Promise<Rollout> {
  await change.require("policy.write");
  const rollout = found(await findRollout(change.tx, change.organisation.id, rolloutId));
  if (rollout.state === "running" || rollout.state === "paused") return rollout;
  throw new AppError("conflict", "The rollout has ended");
}

async function written(change: Change, verb: string, before: Rollout | null, rollout: Rollout): Promise<RolloutResult> {
  change.touch("policy", rollout.policyId);
  const what = { action: `rollout.${verb}`, objectType: "rollout", objectId: rollout.id };
  return { rollout, auditId: await change.audit({ ...what, before, after: rollout }) };
}
