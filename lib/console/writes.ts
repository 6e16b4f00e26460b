/** The console's writes: each hands one checked input to one use case and answers with what Undo needs. */
import "server-only";
import { createApiKey, revokeApiKey, rotateApiKey } from "@/lib/control/api-keys";
import { archiveBudget, createBudget, freezeBudget, unfreezeBudget, updateBudget } from "@/lib/control/budgets";
import type { BudgetResult } from "@/lib/control/budgets";
import { cancelDeferredCall } from "@/lib/control/deferral-cancel";
import { createFirstOrganisation } from "@/lib/control/first-organisation";
import { grantBudget } from "@/lib/control/grants";
import { removeSampleData } from "@/lib/control/sample-data";
import { undoChange } from "@/lib/control/undo";
import type {
  CreateBudgetInput,
  CreateGrantInput,
  FreezeBudgetInput,
  UpdateBudgetInput,
} from "@/lib/contracts/budgets";
import type { UndoInput, WriteResult } from "@/lib/contracts/common";
import type { ApiKeySecretResult, CreateApiKeyInput, RevokeApiKeyInput, RotateApiKeyInput } from "@/lib/contracts/keys";
import type { FirstOrganisationInput } from "@/lib/contracts/organisations";
import { getControl } from "@/lib/wiring/control";
import { controlFor } from "./control";
import type { WriteCall } from "./route";
import type { Person } from "./session";
import { sandboxUrl } from "./welcome";

export interface WithId {
  readonly id: string;
}
type NoParams = Record<string, never>;

function toWriteResult({ budget, auditId, previous }: BudgetResult): WriteResult {
  // A new budget is put away, not undone: calls may already stand on it.
  return { id: budget.id, auditId, undoable: previous !== null };
}

export async function writeNewBudget(call: WriteCall<NoParams, CreateBudgetInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const deps = controlFor("budget.create", call);
  return toWriteResult(await createBudget(deps, principal, { ...call.input, organisationId: organisation.id }));
}

export async function writeBudget(call: WriteCall<WithId, UpdateBudgetInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, budgetId: call.params.id };
  return toWriteResult(await updateBudget(controlFor("budget.update", call), principal, { ...call.input, ...ref }));
}

export async function writeBudgetRemoval(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, budgetId: call.params.id };
  return toWriteResult(await archiveBudget(controlFor("budget.archive", call), principal, ref));
}

export async function writeFreeze(call: WriteCall<WithId, FreezeBudgetInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, budgetId: call.params.id };
  const act = call.input.frozen ? freezeBudget : unfreezeBudget;
  return toWriteResult(await act(controlFor("budget.freeze", call), principal, ref));
}

export async function writeGrant(call: WriteCall<WithId, CreateGrantInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, budgetId: call.params.id };
  const { grant, auditId } = await grantBudget(controlFor("grant.create", call), principal, { ...call.input, ...ref });
  return { id: grant.id, auditId, undoable: false };
}

export async function writeDeferredCancel(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const ref = { organisationId: call.who.organisation.id, deferredId: call.params.id };
  const { auditId } = await cancelDeferredCall(controlFor("deferred_call.cancel", call), call.who.principal, ref);
  return { id: call.params.id, auditId, undoable: false };
}

export async function writeUndo(call: WriteCall<NoParams, UndoInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { organisationId: organisation.id, auditId: call.input.auditId };
  return toWriteResult(await undoChange(controlFor("undo", call), principal, input));
}

export async function writeNewApiKey(call: WriteCall<NoParams, CreateApiKeyInput>): Promise<ApiKeySecretResult> {
  const { principal, organisation } = call.who;
  const deps = controlFor("key.create", call);
  const made = await createApiKey(deps, principal, { ...call.input, organisationId: organisation.id });
  return { id: made.apiKey.id, auditId: made.auditId, secret: made.secret };
}

export async function writeRotation(call: WriteCall<WithId, RotateApiKeyInput>): Promise<ApiKeySecretResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, apiKeyId: call.params.id };
  const made = await rotateApiKey(controlFor("key.rotate", call), principal, { ...call.input, ...ref });
  return { id: made.apiKey.id, auditId: made.auditId, secret: made.secret };
}

export async function writeRevocation(call: WriteCall<WithId, RevokeApiKeyInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, apiKeyId: call.params.id };
  const { apiKey, auditId } = await revokeApiKey(controlFor("key.revoke", call), principal, { ...call.input, ...ref });
  return { id: apiKey.id, auditId, undoable: false };
}

/** Repeating it finds nothing and says so; an idempotency record would be removed with the organisation. */
export async function writeSampleRemoval(
  call: WriteCall<NoParams, Readonly<Record<string, never>>>,
): Promise<{ organisationIds: string[] }> {
  const { organisationIds } = await removeSampleData(getControl(), call.who.principal);
  return { organisationIds: [...organisationIds] };
}

/** Repeating it finds the organisation that the first one made and says so: `conflict`. */
export async function writeFirstOrganisation(
  call: WriteCall<NoParams, FirstOrganisationInput, Person>,
): Promise<{ id: string }> {
  const deps = { ...getControl(), requestId: call.requestId };
  const made = await createFirstOrganisation(deps, call.who.principal, call.input, { sandboxUrl: sandboxUrl() });
  return { id: made.organisation.id };
}
