/** Vendor accounts, the models behind them and how calls reach them: what the console shows, and its writes. */
import "server-only";
import type { WriteResult } from "@/lib/contracts/common";
import { BILLING_MODES } from "@/lib/contracts/models";
import type {
  ModelView,
  ProviderList,
  ProviderTestResult,
  UpsertDeploymentInput,
  UpsertModelInput,
  UpsertProviderInput,
} from "@/lib/contracts/models";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { testProvider } from "@/lib/control/provider-test";
import { upsertProvider } from "@/lib/control/providers";
import { listDeployments, listModels } from "@/lib/db/models";
import { listProviders } from "@/lib/db/providers";
import type { Model } from "@/lib/domain/entities";
import { PROVIDER_KINDS } from "@/lib/domain/provider-kinds";
import { MODEL_KINDS } from "@/lib/domain/snapshot";
import { getControl } from "@/lib/wiring/control";
import { controlFor } from "./control";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import { readSnapshot, toOrganisationView } from "./snapshot";
import type { WithId } from "./writes";

type NoParams = Record<string, never>;

export function toModelView({ id, name, kind, maxOutputTokens, contextTokens, isExternal, ...row }: Model): ModelView {
  return {
    ...{ id, name, maxOutputTokens, contextTokens, isExternal },
    kind: MODEL_KINDS.find((one) => one === kind) ?? "chat",
    disabled: row.disabledAt !== null,
  };
}

export async function readProviders(who: ConsolePrincipal): Promise<ProviderList> {
  const { db, clock } = services();
  const { id: organisationId } = who.organisation;
  const [rows, deployments, models, { states }] = await Promise.all([
    listProviders(db.prisma, organisationId),
    listDeployments(db.prisma, organisationId),
    listModels(db.prisma, organisationId),
    readSnapshot(services(), who.organisation),
  ]);
  const budgets = isPermitted(who, "budget.read", [organisationId]) ? states.views : [];
  const deployedAt = new Map(deployments.map((one) => [one.id, one.providerId]));
  const names = new Map(models.map((model) => [model.id, model.name]));
  return {
    organisation: toOrganisationView(who.organisation),
    readAtMs: clock.nowMs(),
    providers: rows.map(({ id, name, kind, baseUrl, isExternal, billingMode, secretHint, ...row }) => ({
      ...{ id, name, baseUrl, isExternal, secretHint },
      kind: PROVIDER_KINDS.find((one) => one === kind) ?? "openai-compatible",
      billingMode: BILLING_MODES.find((one) => one === billingMode) ?? "none",
      secretChangedAtMs: row.secretChangedAt?.getTime() ?? null,
      disabled: row.disabledAt !== null,
      deployments: deployments
        .filter((one) => one.providerId === id)
        .map(({ organisationId: _organisationId, disabledAt, ...facts }) => ({
          ...facts,
          modelName: names.get(facts.modelId) ?? facts.modelId,
          disabled: disabledAt !== null,
        })),
      budgets: budgets.filter((one) => one.providerId === id || deployedAt.get(one.deploymentId ?? "") === id),
    })),
    models: models.map(toModelView),
    canWrite: isPermitted(who, "model.write", [organisationId]),
    canBudget: isPermitted(who, "budget.write", [organisationId]),
  };
}

export async function writeProvider(call: WriteCall<NoParams, UpsertProviderInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { provider, auditId } = await upsertProvider(controlFor("provider.put", call), principal, input);
  return { id: provider.id, auditId, undoable: false };
}

/** Changes nothing, so its Idempotency-Key is not kept: who tries again wants a new answer. */
export async function runProviderTest(call: WriteCall<WithId, unknown>): Promise<ProviderTestResult> {
  const ref = { organisationId: call.who.organisation.id, providerId: call.params.id };
  return testProvider(getControl(), call.who.principal, ref);
}

export async function writeDeployment(call: WriteCall<NoParams, UpsertDeploymentInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { deployment, auditId } = await upsertDeployment(controlFor("deployment.put", call), principal, input);
  return { id: deployment.id, auditId, undoable: false };
}

export async function writeModel(call: WriteCall<NoParams, UpsertModelInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { model, auditId } = await upsertModel(controlFor("model.put", call), principal, input);
  return { id: model.id, auditId, undoable: false };
}
