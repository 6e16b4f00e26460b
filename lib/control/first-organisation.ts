/**
 * The first organisation of an installation, founded by a person who has signed in and belongs to none. Only while the
 * installation has no organisation at all: whoever comes later asks its owners for a role.
 */
import { firstOrganisationInput } from "@/lib/contracts/organisations";
import type { FirstOrganisationInput } from "@/lib/contracts/organisations";
import { inTransaction } from "@/lib/db/client";
import type { Tx } from "@/lib/db/client";
import { insertConsumer, updateConsumer } from "@/lib/db/consumers";
import { countOrganisations, lockFounding, raiseEpoch } from "@/lib/db/organisations";
import { insertPolicy, insertPolicyVersion, updatePolicy } from "@/lib/db/policies";
import { insertSnapshotChanges } from "@/lib/db/snapshot-changes";
import { findUser, insertMembership } from "@/lib/db/users";
import type { Organisation } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { Principal, PrincipalMembership } from "@/lib/domain/role";
import { notFound } from "./change";
import type { ControlDeps } from "./deps";
import { auditCreation, insertOrganisationWithRoot, inventOrganisationId } from "./organisations";
import { addSandboxModels, SANDBOX_CURRENCY, SANDBOX_DOWNGRADES } from "./sandbox-models";
import { publishAfterCommit } from "./snapshots";
import { invalidFields, parseInput } from "./validate";

/** Where the stand-in provider listens (without a path); absent where this installation has none. */
interface Founding {
  readonly sandboxUrl: string | undefined;
}

/**
 * Makes organisation, root, first app, default policy and the founder's ownership in one transaction; then, where asked
 * for, the sandbox with its models. `conflict` where an organisation exists by now. The worker lifts the fence of the new
 * organisation within a second or two; until then its calls are answered 503.
 */
export async function createFirstOrganisation(
  deps: ControlDeps,
  principal: Principal,
  input: FirstOrganisationInput,
  { sandboxUrl }: Founding,
): Promise<{ readonly organisation: Organisation }> {
  const values = parseInput(firstOrganisationInput, input);
  const { userId } = principal;
  if (userId === null) throw notFound();
  if (values.withSandbox && (sandboxUrl === undefined || values.currency !== SANDBOX_CURRENCY)) {
    throw invalidFields({ withSandbox: "sandbox_unavailable" });
  }
  const nowMs = deps.clock.nowMs();
  const { organisation, membership } = await inTransaction(deps.db, async (tx) => {
    // Two founders at once: the second finds the first one's organisation.
    await lockFounding(tx);
    if ((await findUser(tx, userId))?.disabledAt !== null) throw notFound();
    if ((await countOrganisations(tx)) > 0) throw new AppError("conflict", "An organisation exists");
    return found(tx, deps, { ...principal, userId }, values, nowMs);
  });
  if (values.withSandbox && sandboxUrl !== undefined) {
    const owner: Principal = { ...principal, memberships: [...principal.memberships, membership] };
    const sandbox = { organisationId: organisation.id, sandboxUrl, pricedFromMs: nowMs };
    // Many small changes, one push at the end.
    await addSandboxModels({ ...deps, publishes: false }, owner, sandbox);
  }
  await publishAfterCommit(deps, organisation.id);
  return { organisation };
}

type Founder = Principal & { readonly userId: string };
type Values = ReturnType<typeof firstOrganisationInput.parse>;

async function found(
  tx: Tx,
  deps: ControlDeps,
  founder: Founder,
  { appName, withSandbox, ...values }: Values,
  nowMs: number,
): Promise<{ organisation: Organisation; membership: PrincipalMembership }> {
  const id = inventOrganisationId(nowMs);
  const organisation = await insertOrganisationWithRoot(tx, {
    ...values,
    id,
    weekStartsOn: 1,
    budgetRefusalStatus: 429,
    isSample: false,
  });
  const appId = newId("con", nowMs);
  const app = { id: appId, organisationId: id, parentId: id, kind: "app" as const, name: appName };
  await insertConsumer(tx, { ...app, costCentre: null, ownerUserId: null });
  const policyId = await insertDefaultPolicy(tx, id, founder.userId, withSandbox ? SANDBOX_DOWNGRADES : {}, nowMs);
  const membership = { organisationId: id, userId: founder.userId, consumerId: id, role: "owner" as const };
  await insertMembership(tx, { ...membership, id: newId("mem", nowMs) });
  const audit = { tx, principal: founder, organisationId: id, nowMs, requestId: deps.requestId };
  await auditCreation(audit, {
    action: "organisation.create",
    objectType: "organisation",
    objectId: id,
    after: values,
  });
  await auditCreation(audit, { action: "consumer.create", objectType: "consumer", objectId: appId, after: app });
  await auditCreation(audit, { action: "policy.publish", objectType: "policy", objectId: policyId });
  const role = { consumerId: id, role: membership.role };
  await auditCreation(audit, { action: "member.add", objectType: "user", objectId: founder.userId, after: role });
  await insertSnapshotChanges(tx, id, [
    { entity: "organisation", entityId: id },
    { entity: "consumer", entityId: id },
    { entity: "consumer", entityId: appId },
    { entity: "policy", entityId: policyId },
    { entity: "fx", entityId: id },
  ]);
  await raiseEpoch(tx, id);
  return { organisation, membership };
}

/** Both ladder templates, assigned to the root: what the console offers for a budget is what gateways then do. */
async function insertDefaultPolicy(
  tx: Tx,
  organisationId: string,
  createdById: string,
  downgrade: Readonly<Record<string, string>>,
  nowMs: number,
): Promise<string> {
  const document: PolicyDocument = { ladders: { ...LADDER_TEMPLATES }, downgrade: { ...downgrade } };
  const policy = await insertPolicy(tx, { id: newId("pol", nowMs), organisationId, name: "Default" });
  const version = await insertPolicyVersion(tx, {
    id: newId("pv", nowMs),
    organisationId,
    policyId: policy.id,
    number: 1,
    document,
    note: null,
    createdById,
  });
  await updatePolicy(tx, policy.id, { activeVersionId: version.id });
  await updateConsumer(tx, organisationId, { policyId: policy.id });
  return policy.id;
}
