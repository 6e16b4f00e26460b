/** The sandbox's models with their prices, and those of every real vendor whose key is at hand. */
import type { ControlDeps } from "@/lib/control/deps";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { addPrice } from "@/lib/control/prices";
import { upsertProvider } from "@/lib/control/providers";
import { seedPrincipal } from "./build-company";
import type { SampleModel } from "./company";
import type { SeededModel } from "./history";
import { VENDORS } from "./vendors";
import type { VendorModel } from "./vendors";

const SANDBOX_MODELS: readonly (VendorModel & { readonly name: SampleModel })[] = [
  { name: "sandbox-large", kind: "chat", maxOutputTokens: 16_384, input: "2.50", cacheRead: "1.25", output: "10.00" },
  { name: "sandbox-medium", kind: "chat", maxOutputTokens: 16_384, input: "0.80", cacheRead: "0.40", output: "3.20" },
  { name: "sandbox-small", kind: "chat", maxOutputTokens: 16_384, input: "0.15", cacheRead: "0.075", output: "0.60" },
  { name: "sandbox-embed", kind: "embedding", maxOutputTokens: null, input: "0.02" },
];

export interface SandboxResult {
  readonly providerId: string;
  readonly models: Readonly<Record<SampleModel, SeededModel>>;
}

/** `sandboxUrl` is the server's address without a path; `pricedFromMs` is before the first call of the history. */
export async function addSandbox(
  deps: ControlDeps,
  organisationId: string,
  sandboxUrl: string,
  pricedFromMs: number,
): Promise<SandboxResult> {
  const { provider } = await upsertProvider(deps, seedPrincipal, {
    organisationId,
    name: "Sandbox",
    kind: "sandbox",
    baseUrl: `${sandboxUrl.replace(/\/+$/u, "")}/v1`,
    // The sandbox takes any secret that starts so; it keeps a bill for each.
    secret: `sandbox-${organisationId}`,
    isExternal: false,
    billingMode: "request",
  });
  const models: Partial<Record<SampleModel, SeededModel>> = {};
  for (const model of SANDBOX_MODELS) {
    models[model.name] = await addModel(deps, organisationId, provider.id, model, false, pricedFromMs);
  }
  return { providerId: provider.id, models: models as Record<SampleModel, SeededModel> };
}

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
      await addModel(deps, organisationId, provider.id, model, true, pricedFromMs);
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
  isExternal: boolean,
  effectiveFromMs: number,
): Promise<SeededModel> {
  const { name, kind, maxOutputTokens, input, cacheRead, output } = listed;
  const { model } = await upsertModel(deps, seedPrincipal, { organisationId, name, kind, maxOutputTokens, isExternal });
  const ref = { organisationId, modelId: model.id };
  const { deployment } = await upsertDeployment(deps, seedPrincipal, { ...ref, providerId, upstreamModel: name });
  const optional = { ...(output === undefined ? {} : { output }), ...(cacheRead === undefined ? {} : { cacheRead }) };
  const { price } = await addPrice(deps, seedPrincipal, {
    ...ref,
    currency: "USD",
    perMillion: { input, ...optional },
    source: isExternal ? "vendor list price, November 2026" : "sandbox",
    effectiveFromMs,
  });
  return { rates: price.rates, priceId: price.id, deploymentId: deployment.id };
}
