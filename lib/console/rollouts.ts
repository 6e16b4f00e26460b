/** Rollouts in the console: what was done with them and by whom, and what a version would have done. */
import type { PolicyReplay, RolloutHistory } from "@/lib/contracts/policies";
import { ROLLOUT_ACTS } from "@/lib/contracts/policies";
import { groupedBy } from "@/lib/control/grouped";
import { listKeysWithPolicy } from "@/lib/db/api-keys";
import { listActivePolicyDocuments } from "@/lib/db/console-consumers";
import { listPastCalls, listRolloutAudit } from "@/lib/db/console-policies";
import { findPolicy, findPolicyVersion, listPolicyVersions } from "@/lib/db/policies";
import { AppError } from "@/lib/domain/fault";
import { mergePolicies, policyDocumentSchema } from "@/lib/domain/policy";
import type { EffectivePolicy, PolicyDocument } from "@/lib/domain/policy";
import { replay } from "@/lib/domain/policy-replay";
import { rolloutBucket } from "@/lib/domain/rollout";
import type { ConsoleServices } from "@/lib/wiring/console";
import type { ConsolePrincipal } from "./principal";
import { readTree } from "./snapshot";
import { chainOf, visibleTree } from "./tree";
import type { ConsumerTree } from "./tree";

const SHOWN_ACTS = 50;
const REPLAY_DAYS = 7;
const REPLAY_CALLS = 2_000;
const SHOWN_GROUPS = 20;
const DAY_MS = 86_400_000;

function missing(): AppError {
  return new AppError("not_found", "There is no such policy");
}

/** Throws `not_found` for an unknown policy. */
export async function readRolloutHistory(
  { db }: ConsoleServices,
  who: ConsolePrincipal,
  policyId: string,
): Promise<RolloutHistory> {
  const { id: organisationId } = who.organisation;
  if ((await findPolicy(db.prisma, organisationId, policyId)) === null) throw missing();
  const [rows, versions] = await Promise.all([
    listRolloutAudit(db.pool, organisationId, policyId, SHOWN_ACTS),
    listPolicyVersions(db.prisma, policyId),
  ]);
  const entries = rows.flatMap((row) => {
    const act = ROLLOUT_ACTS.find((one) => row.action === `rollout.${one}`);
    if (act === undefined) return [];
    return {
      auditId: row.id,
      atMs: row.at.getTime(),
      actor: row.actor.replace(/ <[^>]*>$/u, ""),
      act,
      versionNumber: versions.find((version) => version.id === row.versionId)?.number ?? null,
      percentBefore: row.percentBefore,
      percent: row.percent ?? 0,
    };
  });
  return { entries };
}

type Documents = ReadonlyMap<string, PolicyDocument>;

async function readActiveDocuments({ db }: ConsoleServices, organisationId: string): Promise<Documents> {
  const rows = await listActivePolicyDocuments(db.pool, organisationId);
  return new Map(rows.map((row) => [row.policyId, policyDocumentSchema.parse(row.document)]));
}

/** Policies of each app and key, remembered, since a replay asks for the same few thousands of times. */
function policiesBy(
  tree: ConsumerTree,
  keyPolicies: ReadonlyMap<string, string>,
  documents: Documents,
): (appId: string, keyId: string | null) => EffectivePolicy {
  const known = new Map<string, EffectivePolicy>();
  return (appId, keyId) => {
    const own = keyPolicies.get(keyId ?? "") ?? null;
    const name = `${appId} ${own ?? ""}`;
    const found = known.get(name);
    if (found !== undefined) return found;
    const chain = [...chainOf(tree, appId).map((row) => row.policyId), own];
    const merged = mergePolicies(chain.flatMap((id) => documents.get(id ?? "") ?? []));
    known.set(name, merged);
    return merged;
  };
}

/**
 * The newest calls of the last days under a version, held against what is in force. Only apps whose usage the person may see are looked
 * at. Throws `not_found` for a version of another policy.
 */
export async function readPolicyReplay(
  services: ConsoleServices,
  who: ConsolePrincipal,
  policyId: string,
  versionId: string,
): Promise<PolicyReplay> {
  const { db, clock } = services;
  const { id: organisationId } = who.organisation;
  const version = await findPolicyVersion(db.prisma, organisationId, versionId);
  if (version?.policyId !== policyId) throw missing();
  const [tree, keys, active] = await Promise.all([
    readTree(services, organisationId),
    listKeysWithPolicy(db.pool, organisationId),
    readActiveDocuments(services, organisationId),
  ]);
  const visible = visibleTree(tree, who.principal, "usage.read");
  const keyed = new Set(keys.filter((key) => key.policyId === policyId).map((key) => key.appId));
  const holdsFor = (id: string): boolean => keyed.has(id) || chainOf(tree, id).some((row) => row.policyId === policyId);
  const apps = [...tree.byId.values()].filter(
    (row) => row.kind === "app" && !row.archived && visible.has(row.id) && holdsFor(row.id),
  );
  const sinceMs = clock.nowMs() - REPLAY_DAYS * DAY_MS;
  const appIds = apps.map((row) => row.id);
  const calls = await listPastCalls(db.pool, organisationId, appIds, sinceMs, REPLAY_CALLS);
  const keyPolicies = new Map(keys.map((key) => [key.id, key.policyId]));
  const policyBefore = policiesBy(tree, keyPolicies, active);
  const policyAfter = policiesBy(tree, keyPolicies, new Map([...active, [policyId, version.document]]));
  const changed = calls.flatMap((call) => {
    const before = replay(policyBefore(call.appId, call.apiKeyId), call);
    const after = replay(policyAfter(call.appId, call.apiKeyId), call);
    const { trafficClass, model } = call;
    return before.kind === after.kind && before.model === after.model ? [] : [{ trafficClass, model, before, after }];
  });
  const groups = [...groupedBy(changed, (one) => JSON.stringify(one)).values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ ...group[0], calls: group.length }]))
    .sort((one, other) => other.calls - one.calls);
  return {
    sinceMs,
    calls: calls.length,
    changed: changed.length,
    groups: groups.slice(0, SHOWN_GROUPS),
    apps: apps
      .map(({ id, name }) => ({ name, bucket: rolloutBucket(policyId, id) }))
      .sort((one, other) => one.bucket - other.bucket),
  };
}
