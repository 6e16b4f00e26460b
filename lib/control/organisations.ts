/** Organisations: made by the installation's operator, changed by their owners and engineers. */
import { createOrganisationInput, updateOrganisationInput } from "@/lib/contracts/organisations";
import type { CreateOrganisationInput, UpdateOrganisationInput } from "@/lib/contracts/organisations";
import { insertAuditEntry } from "@/lib/db/audit-log";
import { inTransaction } from "@/lib/db/client";
import type { Tx } from "@/lib/db/client";
import { insertConsumer } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import { insertOrganisation, raiseEpoch, updateOrganisation as updateRow } from "@/lib/db/organisations";
import type { NewOrganisation } from "@/lib/db/organisations";
import { insertSnapshotChanges } from "@/lib/db/snapshot-changes";
import type { Organisation } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import { may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, notFound } from "./change";
import type { ChangeAudit } from "./change";
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
  const id = values.id ?? inventOrganisationId(nowMs);
  if (!may(principal, "organisation.create", organisationScope(id))) throw notFound();
  const result = await inTransaction(deps.db, async (tx) => {
    const organisation = await insertOrganisationWithRoot(tx, { ...values, id });
    const audit = { tx, principal, organisationId: id, nowMs, requestId: deps.requestId };
    const about = { action: "organisation.create", objectType: "organisation", objectId: id, after: values };
    const auditId = await auditCreation(audit, about);
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

/** The organisation's row and the root of its tree, which has the same id. `conflict` when the id is taken. */
export async function insertOrganisationWithRoot(tx: Tx, row: NewOrganisation): Promise<Organisation> {
  const organisation = await orConflict(insertOrganisation(tx, row), "An organisation with this id exists", "id");
  const { id, name } = row;
  const root = { id, organisationId: id, parentId: null, kind: "organization" as const, name };
  await insertConsumer(tx, { ...root, costCentre: null, ownerUserId: null });
  return organisation;
}

/** What the audit rows of a founding have in common: there is no organisation yet that `changeOrganisation` could lock. */
interface CreationAudit {
  readonly tx: Tx;
  readonly principal: Principal;
  readonly organisationId: string;
  readonly nowMs: number;
  readonly requestId: string | undefined;
}

/** Writes the audit row of something made together with its organisation; returns its id. */
export async function auditCreation(audit: CreationAudit, entry: Omit<ChangeAudit, "before">): Promise<string> {
  const id = newId("aud", audit.nowMs);
  const now = new Date(audit.nowMs);
  await insertAuditEntry(audit.tx, {
    id,
    organisationId: audit.organisationId,
    actorId: audit.principal.userId,
    actorLabel: audit.principal.label,
    before: null,
    after: null,
    ...entry,
    requestId: audit.requestId ?? null,
    effectiveAt: now,
    createdAt: now,
  });
  return id;
}

/** Lower-case letters and digits, as keys and hash tags want it; starts with a letter so that it reads as a name. */
export function inventOrganisationId(nowMs: number): string {
  return `o${newId("req", nowMs).slice(-11)}`;
}
