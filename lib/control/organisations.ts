/** Organisations: made by the installation's operator, changed by their owners and engineers. */
import type { z } from "zod";
import { createOrganisationInput, updateOrganisationInput } from "@/lib/contracts/organisations";
import type { CreateOrganisationInput, UpdateOrganisationInput } from "@/lib/contracts/organisations";
import { insertAuditEntry } from "@/lib/db/audit-log";
import { inTransaction } from "@/lib/db/client";
import { insertConsumer } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import { insertOrganisation, raiseEpoch, updateOrganisation as updateRow } from "@/lib/db/organisations";
import { insertSnapshotChanges } from "@/lib/db/snapshot-changes";
import type { Organisation } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import { may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, notFound } from "./change";
import type { ControlDeps } from "./deps";
import { publishAfterCommit } from "./snapshots";
import { definedOnly, parseInput } from "./validate";

/** Makes an organisation and the root of its tree. Operators only. `conflict` when the id is taken. */
export async function createOrganisation(
  deps: ControlDeps,
  principal: Principal,
  input: CreateOrganisationInput,
): Promise<{ readonly organisation: Organisation; readonly auditId: string }> {
  const values = parseInput(createOrganisationInput, input);
  const nowMs = deps.clock.nowMs();
  const id = values.id ?? inventId(nowMs);
  if (!may(principal, "organisation.create", organisationScope(id))) throw notFound();
  const result = await inTransaction(deps.db, async (tx) => {
    const row = { ...values, id };
    const organisation = await orConflict(insertOrganisation(tx, row), "An organisation with this id exists", "id");
    const root = { id, organisationId: id, parentId: null, kind: "organization" as const, name: values.name };
    await insertConsumer(tx, { ...root, costCentre: null, ownerUserId: null });
    const auditId = newId("aud", nowMs);
    await insertAuditEntry(tx, creationAudit(principal, auditId, id, values, new Date(nowMs), deps.requestId));
    await insertSnapshotChanges(tx, id, [
      { entity: "organisation", entityId: id },
      { entity: "consumer", entityId: id },
      { entity: "fx", entityId: id },
    ]);
    await raiseEpoch(tx, id);
    return { organisation, auditId };
  });
  await publishAfterCommit(deps, id);
  return result;
}

/** Changes the name, the locale or the status of money refusals. */
export async function updateOrganisation(
  deps: ControlDeps,
  principal: Principal,
  input: UpdateOrganisationInput & { readonly organisationId: string },
): Promise<{ readonly organisation: Organisation; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const values = definedOnly(parseInput(updateOrganisationInput, rest));
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = change.organisation;
    const organisation = await updateRow(change.tx, organisationId, values);
    change.touch("organisation", organisationId);
    const auditId = await change.audit({
      action: "organisation.update",
      objectType: "organisation",
      objectId: organisationId,
      before: { name: before.name, locale: before.locale, budgetRefusalStatus: before.budgetRefusalStatus },
      after: {
        name: organisation.name,
        locale: organisation.locale,
        budgetRefusalStatus: organisation.budgetRefusalStatus,
      },
    });
    return { organisation, auditId };
  });
}

function creationAudit(
  principal: Principal,
  id: string,
  organisationId: string,
  after: z.output<typeof createOrganisationInput>,
  now: Date,
  requestId: string | undefined,
) {
  return {
    id,
    organisationId,
    actorId: principal.userId,
    actorLabel: principal.label,
    action: "organisation.create",
    objectType: "organisation",
    objectId: organisationId,
    before: null,
    after,
    requestId: requestId ?? null,
    effectiveAt: now,
    createdAt: now,
  };
}

/** Lower-case letters and digits, as keys and hash tags want it; starts with a letter so that it reads as a name. */
function inventId(nowMs: number): string {
  return `o${newId("req", nowMs).slice(-11)}`;
}
