/** Policies with their versions and where they are put: what the console shows, and its writes. */
import "server-only";
import type { WriteResult } from "@/lib/contracts/common";
import type {
  ActivatePolicyInput,
  AssignPolicyInput,
  CreatePolicyInput,
  EndRolloutInput,
  HoldRolloutInput,
  PolicyList,
  PolicyView,
  PublishPolicyVersionInput,
  StartRolloutInput,
} from "@/lib/contracts/policies";
import { groupedBy } from "@/lib/control/grouped";
import { activatePolicyVersion, assignPolicy, createPolicy, publishPolicyVersion } from "@/lib/control/policies";
import { abortRollout, completeRollout, holdRollout, startRollout } from "@/lib/control/rollouts";
import type { RolloutResult } from "@/lib/control/rollouts";
import { listKeysWithPolicy } from "@/lib/db/api-keys";
import { listLiveBudgets } from "@/lib/db/console-budgets";
import { listModelNames } from "@/lib/db/console-consumers";
import { listOpenRollouts, listPolicies, listPolicyVersions } from "@/lib/db/policies";
import { listUserNames } from "@/lib/db/users";
import { controlFor } from "./control";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import { readTree, toOrganisationView } from "./snapshot";
import { chainOf, pathOf, visibleTree, walkVisible } from "./tree";
import type { ConsumerTree } from "./tree";
import type { WithId } from "./writes";

/** Of one policy; the one in force is always among them. */
const SHOWN_VERSIONS = 50;

type NoParams = Record<string, never>;
type Targets = ReadonlyMap<string, PolicyView["targets"]>;

function namesOf(tree: ConsumerTree, id: string): string[] {
  return chainOf(tree, id).map((row) => row.name);
}

/** By policy id. Nodes that the person may not see are left out, like everywhere. */
async function readTargets(who: ConsolePrincipal, tree: ConsumerTree): Promise<Targets> {
  const visible = visibleTree(tree, who.principal, "policy.read");
  const keys = await listKeysWithPolicy(services().db.pool, who.organisation.id);
  const found = [
    ...[...tree.byId.values()]
      .filter((row) => !row.archived && visible.has(row.id))
      .map(({ id, kind, policyId }) => ({ policyId, target: { id, kind, path: namesOf(tree, id) } })),
    ...keys
      .filter((key) => visible.has(key.appId))
      .map(({ id, name, appId, policyId }) => ({
        policyId,
        target: { id, kind: "key" as const, path: [...namesOf(tree, appId), name] },
      })),
  ];
  const byPolicy = groupedBy(found, (one) => one.policyId ?? "");
  return new Map([...byPolicy].map(([id, group]) => [id, group.map((one) => one.target)]));
}

async function readLadderUse(organisationId: string): Promise<Record<string, number>> {
  const budgets = await listLiveBudgets(services().db.pool, organisationId);
  const byLadder = groupedBy(
    budgets.flatMap(({ ladder }) => ladder ?? []),
    (ladder) => ladder,
  );
  return Object.fromEntries([...byLadder].map(([ladder, uses]) => [ladder, uses.length]));
}

export async function readPolicies(who: ConsolePrincipal): Promise<PolicyList> {
  const { db, clock } = services();
  const { id: organisationId } = who.organisation;
  const [policies, tree] = await Promise.all([
    listPolicies(db.prisma, organisationId),
    readTree(services(), organisationId),
  ]);
  const [versions, rollouts, targets, models, ladderUse] = await Promise.all([
    Promise.all(policies.map((policy) => listPolicyVersions(db.prisma, policy.id))),
    listOpenRollouts(
      db.prisma,
      policies.map((policy) => policy.id),
    ),
    readTargets(who, tree),
    listModelNames(db.pool, organisationId),
    readLadderUse(organisationId),
  ]);
  const authors = await listUserNames(db.prisma, [...new Set(versions.flat().flatMap((row) => row.createdById ?? []))]);
  const assignable = visibleTree(tree, who.principal, "policy.assign");
  return {
    organisation: toOrganisationView(who.organisation),
    readAtMs: clock.nowMs(),
    policies: policies.map(({ id, name, activeVersionId }, index) => {
      const rollout = rollouts.find((row) => row.policyId === id);
      const own = (versions[index] ?? []).filter((row, place) => place < SHOWN_VERSIONS || row.id === activeVersionId);
      return {
        ...{ id, name, activeVersionId },
        versions: own.map((row) => ({
          ...{ id: row.id, number: row.number, document: row.document, note: row.note },
          author: authors.get(row.createdById ?? "") ?? null,
          createdAtMs: row.createdAt.getTime(),
        })),
        rollout:
          rollout === undefined
            ? null
            : {
                ...{ id: rollout.id, versionId: rollout.policyVersionId, percent: rollout.percent },
                versionNumber: versions[index]?.find((row) => row.id === rollout.policyVersionId)?.number ?? 0,
                isHeld: rollout.state === "paused",
              },
        targets: targets.get(id) ?? [],
      };
    }),
    nodes: walkVisible(tree, assignable).map(({ row: { id, kind, policyId } }) => ({
      ...{ id, kind, policyId },
      path: namesOf(tree, id),
    })),
    models,
    ladderUse,
    canWrite: isPermitted(who, "policy.write", pathOf(tree, organisationId)),
    canPrice: isPermitted(who, "price.write", pathOf(tree, organisationId)),
  };
}

export async function writeNewPolicy(call: WriteCall<NoParams, CreatePolicyInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { policy, auditId } = await createPolicy(controlFor("policy.create", call), principal, input);
  return { id: policy.id, auditId, undoable: false };
}

export async function writePolicyVersion(call: WriteCall<WithId, PublishPolicyVersionInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id, policyId: call.params.id };
  const { version, auditId } = await publishPolicyVersion(controlFor("policy.publish", call), principal, input);
  return { id: version.id, auditId, undoable: false };
}

export async function writePolicyActivation(call: WriteCall<WithId, ActivatePolicyInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id, policyId: call.params.id };
  const { policy, auditId } = await activatePolicyVersion(controlFor("policy.activate", call), principal, input);
  return { id: policy.id, auditId, undoable: false };
}

export async function writePolicyAssignment(call: WriteCall<NoParams, AssignPolicyInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { auditId } = await assignPolicy(controlFor("policy.assign", call), principal, input);
  return { id: call.input.consumerId ?? call.input.apiKeyId ?? "", auditId, undoable: false };
}

function written({ rollout, auditId }: RolloutResult): WriteResult {
  return { id: rollout.id, auditId, undoable: false };
}

export async function writeRollout(call: WriteCall<WithId, StartRolloutInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id, policyId: call.params.id };
  return written(await startRollout(controlFor("rollout.start", call), principal, input));
}

export async function writeRolloutHold(call: WriteCall<WithId, HoldRolloutInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id, rolloutId: call.params.id };
  return written(await holdRollout(controlFor("rollout.hold", call), principal, input));
}

export async function writeRolloutEnd(call: WriteCall<WithId, EndRolloutInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const end = call.input.outcome === "aborted" ? abortRollout : completeRollout;
  const ref = { organisationId: organisation.id, rolloutId: call.params.id };
  return written(await end(controlFor("rollout.end", call), principal, ref));
}
