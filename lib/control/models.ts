/** Models that callers may name and the deployments that serve them. */
import { upsertDeploymentInput, upsertModelInput } from "@/lib/contracts/models";
import type { UpsertDeploymentInput, UpsertModelInput } from "@/lib/contracts/models";
import {
  findDeploymentOf,
  findModel,
  findModelByName,
  insertDeployment,
  insertModel,
  updateDeployment,
  updateModel,
} from "@/lib/db/models";
import { findProvider } from "@/lib/db/providers";
import type { Deployment, Model } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, found } from "./change";
import type { ControlDeps } from "./deps";
import { parseInput } from "./validate";

/** Adds the model or changes the one of this name. */
export async function upsertModel(
  deps: ControlDeps,
  principal: Principal,
  input: UpsertModelInput & { readonly organisationId: string },
): Promise<{ readonly model: Model; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { disabled, ...values } = parseInput(upsertModelInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("model.write");
    const before = await findModelByName(change.tx, organisationId, values.name);
    const inserted =
      before ?? (await insertModel(change.tx, { ...values, id: newId("mod", change.nowMs), organisationId }));
    const { name: _name, ...changes } = values;
    const disabledAt = disabled ? (inserted.disabledAt ?? change.now) : null;
    const model =
      before === null && !disabled ? inserted : await updateModel(change.tx, inserted.id, { ...changes, disabledAt });
    change.touch("model", model.id);
    const auditId = await change.audit({
      action: before === null ? "model.create" : "model.update",
      objectType: "model",
      objectId: model.id,
      before,
      after: model,
    });
    return { model, auditId };
  });
}

/** Adds the way to serve the model, or changes the one with the same provider and upstream name. */
export async function upsertDeployment(
  deps: ControlDeps,
  principal: Principal,
  input: UpsertDeploymentInput & { readonly organisationId: string },
): Promise<{ readonly deployment: Deployment; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { disabled, ...values } = parseInput(upsertDeploymentInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("model.write");
    found(await findModel(change.tx, organisationId, values.modelId));
    found(await findProvider(change.tx, organisationId, values.providerId));
    const { modelId, providerId, upstreamModel, ...changes } = values;
    const before = await findDeploymentOf(change.tx, { organisationId, modelId, providerId, upstreamModel });
    const inserted =
      before ?? (await insertDeployment(change.tx, { ...values, id: newId("dep", change.nowMs), organisationId }));
    const disabledAt = disabled ? (inserted.disabledAt ?? change.now) : null;
    const deployment =
      before === null && !disabled
        ? inserted
        : await updateDeployment(change.tx, inserted.id, { ...changes, disabledAt });
    change.touch("model", modelId);
    const auditId = await change.audit({
      action: before === null ? "deployment.create" : "deployment.update",
      objectType: "deployment",
      objectId: deployment.id,
      before,
      after: deployment,
    });
    return { deployment, auditId };
  });
}
