/** Vendor accounts and trusted token issuers: what the console shows of them, and its writes. */
import "server-only";
import type { z } from "zod";
import type { WriteResult } from "@/lib/contracts/common";
import type { providerList, ProviderTestResult, UpsertProviderInput } from "@/lib/contracts/models";
import type { SaveTokenIssuerInput, tokenIssuerList } from "@/lib/contracts/token-issuers";
import { testProvider } from "@/lib/control/provider-test";
import { upsertProvider } from "@/lib/control/providers";
import { putTokenIssuer, removeTokenIssuer } from "@/lib/control/token-issuers";
import { listProviders } from "@/lib/db/providers";
import { listTokenIssuers } from "@/lib/db/token-issuers";
import { getControl } from "@/lib/wiring/control";
import { controlFor } from "./control";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import type { WithId } from "./writes";

type NoParams = Record<string, never>;

export async function readProviders(who: ConsolePrincipal): Promise<z.infer<typeof providerList>> {
  const rows = await listProviders(services().db.prisma, who.organisation.id);
  return {
    providers: rows.map(({ id, name, kind, baseUrl, isExternal, billingMode, secretHint, ...row }) => ({
      ...{ id, name, kind, baseUrl, isExternal, billingMode, secretHint },
      secretChangedAtMs: row.secretChangedAt?.getTime() ?? null,
      disabled: row.disabledAt !== null,
    })),
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

export async function readTokenIssuers(who: ConsolePrincipal): Promise<z.infer<typeof tokenIssuerList>> {
  const rows = await listTokenIssuers(services().db.prisma, who.organisation.id);
  return {
    issuers: rows.map(({ id, name, definition, ...row }) => ({
      id,
      name,
      kind: definition.kind,
      issuer: definition.issuer,
      audiences: definition.audiences,
      endpoint: definition.jwksUrl ?? definition.introspectionUrl ?? "",
      environment: definition.environment,
      trafficClass: definition.trafficClass,
      secretChangedAtMs: row.secretChangedAt?.getTime() ?? null,
      disabled: row.disabledAt !== null,
    })),
  };
}

export async function writeTokenIssuer(call: WriteCall<NoParams, SaveTokenIssuerInput>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { issuer, auditId } = await putTokenIssuer(controlFor("token_issuer.put", call), principal, input);
  return { id: issuer.id, auditId, undoable: false };
}

export async function writeIssuerRemoval(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, issuerId: call.params.id };
  const { issuer, auditId } = await removeTokenIssuer(controlFor("token_issuer.remove", call), principal, ref);
  return { id: issuer.id, auditId, undoable: false };
}
