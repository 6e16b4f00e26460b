/**
 * Batch input files for keys that could not upload one: noted in the register as their app's, as if uploaded before the key came
 * into its state. No provider has them, and none may be asked for them.
 */
import { createObjectRegister } from "@/lib/redis/stored-objects";
import type { BenchStack } from "../harness/stack";
import type { RefusedKey } from "./company";
import { BATCH_MODEL } from "./samples";

/** Each app has its own: what an organisation's other app uploaded is not there for it. */
export function batchFileId(appId: string, model: string): string {
  return `file-${appId}-${model}`;
}

interface Place {
  readonly model: string;
  readonly upstream_model: string;
  readonly deployment_id: string;
  readonly provider_id: string;
}

async function placesOf(stack: BenchStack, organisationId: string): Promise<readonly Place[]> {
  const { rows } = await stack.control.db.pool.query<Place>(
    `SELECT m.name AS model, d.upstream_model, d.id AS deployment_id, d.provider_id
     FROM models m JOIN deployments d ON d.model_id = m.id WHERE m.organisation_id = $1 AND m.name LIKE $2`,
    [organisationId, `${BATCH_MODEL.name}%`],
  );
  return rows;
}

/** Notes a file for each model that a refused key is to ask for. */
export async function noteBatchFiles(stack: BenchStack, refused: readonly RefusedKey[]): Promise<void> {
  const register = createObjectRegister(stack.store);
  for (const { company, key, reason } of refused) {
    const { organisationId, nodes } = company;
    const appId = nodes.get(key.app) ?? "";
    const model = reason.modelName?.(BATCH_MODEL.name) ?? BATCH_MODEL.name;
    const place = (await placesOf(stack, organisationId)).find((one) => one.model === model);
    const upstreamModel = place?.upstream_model ?? BATCH_MODEL.name;
    const id = batchFileId(appId, model);
    const environment = reason.key?.environment ?? "production";
    await register.put(organisationId, [
      {
        ...{
          kind: "file",
          id,
          appId,
          environment,
          apiKeyId: key.id,
          createdMs: Date.now(),
          object: { id },
          batchId: null,
        },
        ...{ providerId: place?.provider_id ?? "", deploymentId: place?.deployment_id ?? null },
        input: {
          ...{ model, upstreamModel, route: "chat/completions", lines: 1, endUser: null },
          ...{ inputTokens: 200, outputTokens: 20, longestTokens: 200, isPlainText: true, hasAudioOutput: false },
        },
      },
    ]);
  }
}
