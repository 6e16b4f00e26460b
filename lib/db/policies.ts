/** Policies, their immutable versions and the one exposure each may have. */
import type { Policy, PolicyVersion, Rollout } from "@/lib/domain/entities";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = { id: true, organisationId: true, name: true, activeVersionId: true } satisfies Prisma.PolicySelect;
const versionSelect = {
  id: true,
  organisationId: true,
  policyId: true,
  number: true,
  document: true,
  note: true,
  createdById: true,
  createdAt: true,
} satisfies Prisma.PolicyVersionSelect;
type VersionRow = Prisma.PolicyVersionGetPayload<{ select: typeof versionSelect }>;
const rolloutSelect = {
  id: true,
  organisationId: true,
  policyId: true,
  policyVersionId: true,
  percent: true,
  state: true,
} satisfies Prisma.RolloutSelect;

function fromVersionRow(row: VersionRow): PolicyVersion {
  return { ...row, document: policyDocumentSchema.parse(row.document) };
}

export async function findPolicy(tx: Tx, organisationId: string, id: string): Promise<Policy | null> {
  return tx.policy.findFirst({ where: { id, organisationId }, select });
}

export async function listPolicies(tx: Tx, organisationId: string): Promise<Policy[]> {
  return tx.policy.findMany({ where: { organisationId }, select, orderBy: { name: "asc" } });
}

export async function listPoliciesById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<Policy[]> {
  return tx.policy.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

export async function insertPolicy(tx: Tx, row: Omit<Policy, "activeVersionId">): Promise<Policy> {
  return tx.policy.create({ data: row, select });
}

export async function updatePolicy(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Policy, "name" | "activeVersionId">>,
): Promise<Policy> {
  return tx.policy.update({ where: { id }, data: changes, select });
}

export async function findPolicyVersion(tx: Tx, organisationId: string, id: string): Promise<PolicyVersion | null> {
  const row = await tx.policyVersion.findFirst({ where: { id, organisationId }, select: versionSelect });
  return row === null ? null : fromVersionRow(row);
}

export async function listPolicyVersionsById(tx: Tx, ids: readonly string[]): Promise<PolicyVersion[]> {
  const rows = await tx.policyVersion.findMany({ where: { id: { in: [...ids] } }, select: versionSelect });
  return rows.map(fromVersionRow);
}

/** Versions of one policy, newest first. */
export async function listPolicyVersions(tx: Tx, policyId: string): Promise<PolicyVersion[]> {
  const rows = await tx.policyVersion.findMany({
    where: { policyId },
    select: versionSelect,
    orderBy: { number: "desc" },
  });
  return rows.map(fromVersionRow);
}

export async function insertPolicyVersion(tx: Tx, row: Omit<PolicyVersion, "createdAt">): Promise<PolicyVersion> {
  return fromVersionRow(
    await tx.policyVersion.create({ data: { ...row, document: { ...row.document } }, select: versionSelect }),
  );
}

export async function findRollout(tx: Tx, organisationId: string, id: string): Promise<Rollout | null> {
  return tx.rollout.findFirst({ where: { id, organisationId }, select: rolloutSelect });
}

/** Exposures in force or paused. */
export async function listOpenRollouts(tx: Tx, policyIds: readonly string[]): Promise<Rollout[]> {
  return tx.rollout.findMany({
    where: { policyId: { in: [...policyIds] }, state: { in: ["running", "paused"] } },
    select: rolloutSelect,
  });
}

export async function insertRollout(
  tx: Tx,
  row: Omit<Rollout, "state"> & { readonly createdById: string | null },
): Promise<Rollout> {
  return tx.rollout.create({ data: row, select: rolloutSelect });
}

export async function updateRollout(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Rollout, "percent" | "state">>,
): Promise<Rollout> {
  return tx.rollout.update({ where: { id }, data: changes, select: rolloutSelect });
}
