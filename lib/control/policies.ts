/** Policies: immutable versions, one of them active; `rollouts.ts` exposes at most one more to a share of consumers. */
import { assignPolicyInput, createPolicyInput, publishPolicyVersionInput } from "@/lib/contracts/policies";
import type { AssignPolicyInput, CreatePolicyInput, PublishPolicyVersionInput } from "@/lib/contracts/policies";
import { updateApiKey } from "@/lib/db/api-keys";
import { findConsumer, updateConsumer } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import {
  findPolicy,
  findPolicyVersion,
  insertPolicy,
  insertPolicyVersion,
  listOpenRollouts,
  listPolicyVersions,
  updatePolicy,
} from "@/lib/db/policies";
import { findWebhookSecret } from "@/lib/db/webhook-secrets";
import type { Policy, PolicyVersion } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import type { FallbackPrice, WebhookPolicy } from "@/lib/domain/policy";
import type { Principal } from "@/lib/domain/role";
import { isSuspicious } from "@/lib/pricing/price-lint";
import { requireKey } from "./api-keys";
import { changeOrganisation, found, notFound } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { requireOutbound } from "./outbound";
import { invalidFields, parseInput } from "./validate";

interface PolicyRef {
  readonly organisationId: string;
  readonly policyId: string;
}

/** Makes an empty policy: it says nothing until a version is published. */
export async function createPolicy(
  deps: ControlDeps,
  principal: Principal,
  input: CreatePolicyInput & { readonly organisationId: string },
): Promise<{ readonly policy: Policy; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { name } = parseInput(createPolicyInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("policy.write");
    const write = insertPolicy(change.tx, { id: newId("pol", change.nowMs), organisationId, name });
    const policy = await orConflict(write, "A policy of this name exists", "name");
    change.touch("policy", policy.id);
    const auditId = await change.audit({ ...about("create", policy.id), after: policy });
    return { policy, auditId };
  });
}

/** Adds a version and, unless `activate` is false, makes it the active one. `conflict` while a rollout is open. */
export async function publishPolicyVersion(
  deps: ControlDeps,
  principal: Principal,
  input: PublishPolicyVersionInput & PolicyRef,
): Promise<{ readonly version: PolicyVersion; readonly policy: Policy; readonly auditId: string }> {
  const { organisationId, policyId, ...rest } = input;
  const { document, note, activate, confirmSuspicious } = parseInput(publishPolicyVersionInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("policy.write");
    const before = found(await findPolicy(change.tx, organisationId, policyId));
    if (activate) await refuseOpenRollout(change, policyId);
    const newest = (await listPolicyVersions(change.tx, policyId))[0];
    await requireWebhook(deps, change, document.deferral?.webhook);
    await requireFallback(change, document.fallbackPrice, newest?.document.fallbackPrice, confirmSuspicious);
    const version = await insertPolicyVersion(change.tx, {
      id: newId("pv", change.nowMs),
      organisationId,
      policyId,
      number: (newest?.number ?? 0) + 1,
      document,
      note,
      createdById: principal.userId,
    });
    const policy = activate ? await updatePolicy(change.tx, policyId, { activeVersionId: version.id }) : before;
    change.touch("policy", policyId);
    const auditId = await change.audit({ ...about(activate ? "publish" : "draft", policyId), before, after: version });
    return { version, policy, auditId };
  });
}

/** Webhooks go where they may, and only signed. */
async function requireWebhook(deps: ControlDeps, change: Change, webhook: WebhookPolicy | undefined): Promise<void> {
  if (webhook === undefined) return;
  if (webhook.url !== undefined) requireOutbound(deps.outbound, "document.deferral.webhook.url", webhook.url);
  if ((await findWebhookSecret(change.tx, change.organisation.id)) === null) {
    throw invalidFields({ "document.deferral.webhook": "webhook_secret_missing" });
  }
}

/** A fallback price is a price: it takes the right to write them, and a suspicious one must be confirmed. */
async function requireFallback(
  change: Change,
  next: FallbackPrice | undefined,
  last: FallbackPrice | undefined,
  isConfirmed: boolean,
): Promise<void> {
  if (next === undefined || JSON.stringify(next) === JSON.stringify(last)) return;
  await change.require("price.write");
  const comparable = last?.currency === next.currency ? last.rates : undefined;
  if (!isConfirmed && isSuspicious(next.rates, comparable))
    throw invalidFields({ confirmSuspicious: "price_suspicious" });
}

/** Makes an earlier version active again: the way back. `conflict` while a rollout is open. */
export async function activatePolicyVersion(
  deps: ControlDeps,
  principal: Principal,
  input: PolicyRef & { readonly policyVersionId: string },
): Promise<{ readonly policy: Policy; readonly auditId: string }> {
  const { organisationId, policyId, policyVersionId } = input;
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("policy.write");
    const before = found(await findPolicy(change.tx, organisationId, policyId));
    await requireVersionOf(change, policyId, policyVersionId);
    await refuseOpenRollout(change, policyId);
    const policy = await updatePolicy(change.tx, policyId, { activeVersionId: policyVersionId });
    change.touch("policy", policyId);
    const auditId = await change.audit({ ...about("activate", policyId), before, after: policy });
    return { policy, auditId };
  });
}

/** Puts a policy on a node or a key, or takes it away. */
export async function assignPolicy(
  deps: ControlDeps,
  principal: Principal,
  input: AssignPolicyInput & { readonly organisationId: string },
): Promise<{ readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { consumerId, apiKeyId, policyId } = parseInput(assignPolicyInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    if (policyId !== null) found(await findPolicy(change.tx, organisationId, policyId));
    const before =
      consumerId === null
        ? await assignToKey(change, apiKeyId ?? "", policyId)
        : await assignToConsumer(change, consumerId, policyId);
    const auditId = await change.audit({
      action: "policy.assign",
      objectType: consumerId === null ? "key" : "consumer",
      objectId: consumerId ?? apiKeyId ?? "",
      before: { policyId: before },
      after: { policyId },
    });
    return { auditId };
  });
}

async function assignToConsumer(change: Change, consumerId: string, policyId: string | null): Promise<string | null> {
  await change.require("policy.assign", consumerId);
  const before = found(await findConsumer(change.tx, change.organisation.id, consumerId));
  await updateConsumer(change.tx, consumerId, { policyId });
  change.touch("consumer", consumerId);
  return before.policyId;
}

async function assignToKey(change: Change, apiKeyId: string, policyId: string | null): Promise<string | null> {
  const before = await requireKey(change, change.organisation.id, apiKeyId, "policy.assign");
  await updateApiKey(change.tx, apiKeyId, { policyId });
  change.touch("key", apiKeyId);
  return before.policyId;
}

/** Throws `not_found` where the version is of another policy. */
export async function requireVersionOf(change: Change, policyId: string, policyVersionId: string): Promise<void> {
  const version = found(await findPolicyVersion(change.tx, change.organisation.id, policyVersionId));
  if (version.policyId !== policyId) throw notFound();
}

async function refuseOpenRollout(change: Change, policyId: string): Promise<void> {
  if ((await listOpenRollouts(change.tx, [policyId])).length > 0) {
    throw new AppError("conflict", "A rollout of this policy is open: complete or abort it first");
  }
}

function about(verb: string, policyId: string) {
  return { action: `policy.${verb}`, objectType: "policy", objectId: policyId };
}
