/** The models of every real vendor whose key is at hand. */
import type { ControlDeps } from "@/lib/control/deps";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { addPrice } from "@/lib/control/prices";
import { upsertProvider } from "@/lib/control/providers";
import { seedPrincipal } from "./build-company";
import { VENDORS } from "./vendors";
import type { VendorModel } from "./vendors";

/** Makes a provider for each vendor named by the environment; returns their names. */
export async function addVendors(
  deps: ControlDeps,
  organisationId: string,
  env: Readonly<Record<string, string | undefined>>,
  pricedFromMs: number,
): Promise<string[]> {
  const made: string[] = [];
  for (const vendor of VENDORS) {
    const secret = env[vendor.variable];
    if (secret === undefined || secret === "") continue;
    const givenUrl = vendor.baseUrlVariable === undefined ? undefined : env[vendor.baseUrlVariable];
    const { provider } = await upsertProvider(deps, seedPrincipal, {
      organisationId,
      name: vendor.name,
      kind: vendor.kind,
      baseUrl: givenUrl === undefined || givenUrl === "" ? vendor.baseUrl : givenUrl,
      secret,
      isExternal: true,
      billingMode: "day",
    });
    for (const model of vendor.models) {
      await addModel(deps, organisationId, provider.id, model, pricedFromMs);
    }
    made.push(vendor.name);
  }
  return made;
}

async function addModel(
  deps: ControlDeps,
  organisationId: string,
  providerId: string,
  listed: VendorModel,
  effectiveFromMs: number,
): Promise<void> {
  const { name, kind, maxOutputTokens, input, cacheRead, output } = listed;
  const { model } = await upsertModel(deps, seedPrincipal, {
    organisationId,
    name,
    kind,
    maxOutputTokens,
    isExternal: true,
  });
  const ref = { organisationId, modelId: model.id };
  await upsertDeployment(deps, seedPrincipal, { ...ref, providerId, upstreamModel: name });
  const optional = { ...(output === undefined ? {} : { output }), ...(cacheRead === undefined ? {} : { cacheRead }) };
  await addPrice(deps, seedPrincipal, {
    ...ref,
    currency: "USD",
    perMillion: { input, ...optional },
    source: "vendor list price, November 2026",
    effectiveFromMs,
  });
}
