/** The stand-in provider and the models it sells, as any organisation may try them without an account at a vendor. */
import { listProviders } from "@/lib/db/providers";
import type { Principal } from "@/lib/domain/role";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { ControlDeps } from "./deps";
import { upsertDeployment, upsertModel } from "./models";
import { addPrice } from "./prices";
import { upsertProvider } from "./providers";

/** USD per million tokens, as the sandbox bills them. */
export const SANDBOX_CURRENCY = "USD";
const SANDBOX_MODELS = [
  { name: "sandbox-large", kind: "chat", maxOutputTokens: 16_384, input: "2.50", cacheRead: "1.25", output: "10.00" },
  { name: "sandbox-medium", kind: "chat", maxOutputTokens: 16_384, input: "0.80", cacheRead: "0.40", output: "3.20" },
  { name: "sandbox-small", kind: "chat", maxOutputTokens: 16_384, input: "0.15", cacheRead: "0.075", output: "0.60" },
  { name: "sandbox-embed", kind: "embedding", maxOutputTokens: null, input: "0.02" },
] as const;
export type SandboxModelName = (typeof SANDBOX_MODELS)[number]["name"];

/** What each model steps down to where money runs low. */
export const SANDBOX_DOWNGRADES: Readonly<Record<string, string>> = {
  "sandbox-large": "sandbox-small",
  "sandbox-medium": "sandbox-small",
};

export interface AddedModel {
  readonly rates: PriceRates;
  readonly priceId: string;
  readonly deploymentId: string;
}

export interface SandboxModels {
  readonly providerId: string;
  readonly models: Readonly<Record<SandboxModelName, AddedModel>>;
}

/**
 * Adds them to the organisation. `sandboxUrl` is the server's address without a path; `pricedFromMs` is before the first
 * call. Several writes: who dies in between leaves the ones before.
 */
export async function addSandboxModels(
  deps: ControlDeps,
  principal: Principal,
  input: { readonly organisationId: string; readonly sandboxUrl: string; readonly pricedFromMs: number },
): Promise<SandboxModels> {
  const { organisationId } = input;
  const { provider } = await upsertProvider(deps, principal, {
    organisationId,
    name: "Sandbox",
    kind: "sandbox",
    baseUrl: baseUrlOf(input.sandboxUrl),
    // The sandbox takes any secret that starts so; it keeps a bill for each.
    secret: `sandbox-${organisationId}`,
    isExternal: false,
    billingMode: "request",
  });
  const models: Partial<Record<SandboxModelName, AddedModel>> = {};
  for (const { name, kind, maxOutputTokens, ...perMillion } of SANDBOX_MODELS) {
    const draft = { organisationId, name, kind, maxOutputTokens, isExternal: false };
    const { model } = await upsertModel(deps, principal, draft);
    const ref = { organisationId, modelId: model.id };
    const serving = { ...ref, providerId: provider.id, upstreamModel: name };
    const { deployment } = await upsertDeployment(deps, principal, serving);
    const source = { currency: SANDBOX_CURRENCY, source: "sandbox", effectiveFromMs: input.pricedFromMs };
    const { price } = await addPrice(deps, principal, { ...ref, ...source, perMillion });
    models[name] = { rates: price.rates, priceId: price.id, deploymentId: deployment.id };
  }
  return { providerId: provider.id, models: models as Record<SandboxModelName, AddedModel> };
}

/** Tells the organisation's sandbox account where the server listens now; one elsewhere than this machine stays. */
export async function moveSandbox(
  deps: ControlDeps,
  principal: Principal,
  input: { readonly organisationId: string; readonly sandboxUrl: string },
): Promise<void> {
  const { organisationId } = input;
  const baseUrl = baseUrlOf(input.sandboxUrl);
  for (const provider of await listProviders(deps.db.prisma, organisationId)) {
    if (provider.kind !== "sandbox" || provider.baseUrl === baseUrl) continue;
    if (new URL(provider.baseUrl).hostname !== "127.0.0.1") continue;
    const { name, kind, isExternal } = provider;
    const disabled = provider.disabledAt !== null;
    await upsertProvider(deps, principal, {
      ...{ organisationId, name, kind, isExternal, disabled, baseUrl },
      billingMode: "request",
    });
  }
}

function baseUrlOf(sandboxUrl: string): string {
  return `${sandboxUrl.replace(/\/+$/u, "")}/v1`;
}
