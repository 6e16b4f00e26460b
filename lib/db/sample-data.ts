/** Removal of sample organisations, row by row of every table. The ledger's trigger allows it for them alone. */
import type { Tx } from "./client";

/** Ids of the organisations made as sample. */
export async function listSampleOrganisationIds(tx: Tx): Promise<string[]> {
  const rows = await tx.organisation.findMany({ where: { isSample: true }, select: { id: true } });
  return rows.map((row) => row.id);
}

/**
 * Deletes everything of one organisation, and the people who belong to no other but those to keep. The caller holds the
 * organisation's lock and has seen that it is a sample; for any other the ledger refuses and nothing is deleted.
 */
export async function deleteSampleOrganisation(
  tx: Tx,
  organisationId: string,
  keep: { readonly userId: string | null; readonly owners: boolean },
): Promise<void> {
  const where = { where: { organisationId } };
  const people = await tx.membership.findMany({ ...where, select: { userId: true, role: true } });
  const gone = people.filter((one) => one.userId !== keep.userId && !(keep.owners && one.role === "owner"));
  await tx.membership.deleteMany(where);
  await tx.user.deleteMany({
    where: { id: { in: gone.map((one) => one.userId) }, memberships: { none: {} } },
  });
  await tx.ledgerEntry.deleteMany(where);
  await tx.usageRollup.deleteMany(where);
  await tx.budgetRollup.deleteMany(where);
  await tx.refusal.deleteMany(where);
  await tx.approval.deleteMany(where);
  await tx.alert.deleteMany(where);
  await tx.reconciliation.deleteMany(where);
  await tx.idempotencyRecord.deleteMany(where);
  await tx.storedObject.deleteMany(where);
  await tx.providerBatch.deleteMany(where);
  await tx.snapshotChange.deleteMany(where);
  await tx.grant.deleteMany(where);
  await tx.budget.deleteMany(where);
  await tx.rateLimit.deleteMany(where);
  await tx.apiKeySecret.deleteMany(where);
  await tx.apiKey.deleteMany(where);
  await tx.rollout.deleteMany(where);
  await tx.policyVersion.deleteMany(where);
  await tx.policy.deleteMany(where);
  await tx.price.deleteMany(where);
  await tx.priceImport.deleteMany(where);
  await tx.tokenIssuer.deleteMany(where);
  await tx.fxRate.deleteMany(where);
  await tx.deployment.deleteMany(where);
  await tx.model.deleteMany(where);
  await tx.provider.deleteMany(where);
  await tx.auditLog.deleteMany(where);
  await deleteTree(tx, organisationId);
  await tx.organisation.delete({ where: { id: organisationId } });
}

/** Leaves first: a parent with children cannot be deleted. */
async function deleteTree(tx: Tx, organisationId: string): Promise<void> {
  for (;;) {
    const gone = await tx.consumer.deleteMany({ where: { organisationId, children: { none: {} } } });
    if (gone.count === 0) return;
  }
}
