/** Models that callers may name, and the deployments that serve them. */
import type { Deployment, Model } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  name: true,
  kind: true,
  maxOutputTokens: true,
  contextTokens: true,
  isExternal: true,
  disabledAt: true,
  createdAt: true,
} satisfies Prisma.ModelSelect;
const deploymentSelect = {
  id: true,
  organisationId: true,
  modelId: true,
  providerId: true,
  upstreamModel: true,
  weight: true,
  priority: true,
  region: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  firstByteTimeoutMs: true,
  idleTimeoutMs: true,
  disabledAt: true,
} satisfies Prisma.DeploymentSelect;

export async function findModel(tx: Tx, organisationId: string, id: string): Promise<Model | null> {
  return tx.model.findFirst({ where: { id, organisationId }, select });
}

export async function findModelByName(tx: Tx, organisationId: string, name: string): Promise<Model | null> {
  return tx.model.findUnique({ where: { organisationId_name: { organisationId, name } }, select });
}

export async function listModels(tx: Tx, organisationId: string): Promise<Model[]> {
  return tx.model.findMany({ where: { organisationId }, select, orderBy: { name: "asc" } });
}

export async function listModelsById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<Model[]> {
  return tx.model.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

export async function insertModel(tx: Tx, row: Omit<Model, "disabledAt" | "createdAt">): Promise<Model> {
  return tx.model.create({ data: row, select });
}

export async function updateModel(
  tx: Tx,
  id: string,
  changes: Partial<Pick<Model, "kind" | "maxOutputTokens" | "contextTokens" | "isExternal" | "disabledAt">>,
): Promise<Model> {
  return tx.model.update({ where: { id }, data: changes, select });
}

export async function findDeployment(tx: Tx, organisationId: string, id: string): Promise<Deployment | null> {
  return tx.deployment.findFirst({ where: { id, organisationId }, select: deploymentSelect });
}

/** The deployment of this model at this provider under this upstream name; null when there is none. */
export async function findDeploymentOf(
  tx: Tx,
  key: Pick<Deployment, "organisationId" | "modelId" | "providerId" | "upstreamModel">,
): Promise<Deployment | null> {
  return tx.deployment.findFirst({ where: key, select: deploymentSelect });
}

/** Deployments of these models that are not disabled, best priority first. */
export async function listActiveDeployments(
  tx: Tx,
  organisationId: string,
  modelIds: readonly string[],
): Promise<Deployment[]> {
  return tx.deployment.findMany({
    where: { organisationId, modelId: { in: [...modelIds] }, disabledAt: null },
    select: deploymentSelect,
    orderBy: [{ priority: "asc" }, { id: "asc" }],
  });
}

/** Every deployment of the organisation, disabled ones too, best priority first. */
export async function listDeployments(tx: Tx, organisationId: string): Promise<Deployment[]> {
  return tx.deployment.findMany({
    where: { organisationId },
    select: deploymentSelect,
    orderBy: [{ priority: "asc" }, { id: "asc" }],
  });
}

export async function insertDeployment(tx: Tx, row: Omit<Deployment, "disabledAt">): Promise<Deployment> {
  return tx.deployment.create({ data: row, select: deploymentSelect });
}

export async function updateDeployment(
  tx: Tx,
  id: string,
  changes: Partial<Omit<Deployment, "id" | "organisationId" | "modelId" | "providerId" | "upstreamModel">>,
): Promise<Deployment> {
  return tx.deployment.update({ where: { id }, data: changes, select: deploymentSelect });
}
