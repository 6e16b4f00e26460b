/** Identity providers whose tokens an organisation accepts for calls. Client secrets are sealed here and never read back. */
import { issuerSecretContext, sealSecret } from "@/lib/config/secret-box";
import { saveTokenIssuerInput } from "@/lib/contracts/token-issuers";
import type { SaveTokenIssuerInput } from "@/lib/contracts/token-issuers";
import { listConsumersById } from "@/lib/db/consumers";
import { orConflict } from "@/lib/db/errors";
import { deleteTokenIssuer, findTokenIssuer, findTokenIssuerByName, saveTokenIssuer } from "@/lib/db/token-issuers";
import type { IssuerSecret } from "@/lib/db/token-issuers";
import type { TokenIssuer, TokenIssuerDefinition } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { isSameOrigin, requireOutbound } from "./outbound";
import { invalidFields, parseInput } from "./validate";

export interface TokenIssuerResult {
  readonly issuer: TokenIssuer;
  readonly auditId: string;
}

/**
 * Adds the issuer or changes the one of this name. `conflict` where its `iss` or token prefix is another entry's: which
 * organisation pays for a token must not depend on an order. Takes the right to change the organisation, since a token
 * may speak for any of its consumers.
 */
export async function putTokenIssuer(
  deps: ControlDeps,
  principal: Principal,
  input: SaveTokenIssuerInput & { readonly organisationId: string },
): Promise<TokenIssuerResult> {
  const { organisationId, ...rest } = input;
  const { name, disabled, ...values } = parseInput(saveTokenIssuerInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = await findTokenIssuerByName(change.tx, organisationId, name);
    const { definition, clientSecret } = definitionOf(values);
    const endpoint = endpointOf(definition);
    requireOutbound(deps.outbound, endpoint.field, endpoint.url);
    const needsSecret =
      definition.kind === "introspection" &&
      (before?.secretChangedAt == null || !isSameOrigin(endpointOf(before.definition).url, endpoint.url));
    if (needsSecret && clientSecret === undefined) throw invalidFields({ clientSecret: "required" });
    await requireOwnConsumers(change, definition);
    const id = before?.id ?? newId("iss", change.nowMs);
    const disabledAt = disabled ? (before?.disabledAt ?? change.now) : null;
    const secret = clientSecret === undefined ? null : seal(deps, organisationId, id, clientSecret, change.now);
    const write = saveTokenIssuer(change.tx, { id, organisationId, name, definition, disabledAt }, secret);
    const issuer = await orConflict(write, "This issuer or token prefix is taken", "issuer");
    change.touch("issuer", id);
    const action = before === null ? "token_issuer.create" : "token_issuer.update";
    const auditId = await change.audit({ action, objectType: "token_issuer", objectId: id, before, after: issuer });
    return { issuer, auditId };
  });
}

/** Ends the trust for good; its tokens open nothing any more. */
export async function removeTokenIssuer(
  deps: ControlDeps,
  principal: Principal,
  ref: { readonly organisationId: string; readonly issuerId: string },
): Promise<TokenIssuerResult> {
  const { organisationId, issuerId } = ref;
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const issuer = found(await findTokenIssuer(change.tx, organisationId, issuerId));
    await deleteTokenIssuer(change.tx, organisationId, issuerId);
    change.touch("issuer", issuerId);
    const about = { action: "token_issuer.remove", objectType: "token_issuer", objectId: issuerId };
    return { issuer, auditId: await change.audit({ ...about, before: issuer }) };
  });
}

type Values = Omit<ReturnType<typeof saveTokenIssuerInput.parse>, "name" | "disabled">;

function definitionOf(values: Values): { definition: TokenIssuerDefinition; clientSecret: string | undefined } {
  if (!("clientSecret" in values)) return { definition: values, clientSecret: undefined };
  const { clientSecret, ...definition } = values as Values & { readonly clientSecret?: string };
  return { definition, clientSecret };
}

function endpointOf(definition: TokenIssuerDefinition): { readonly field: string; readonly url: string } {
  return definition.kind === "jwks"
    ? { field: "jwksUrl", url: definition.jwksUrl ?? "" }
    : { field: "introspectionUrl", url: definition.introspectionUrl ?? "" };
}

/** A token must not be able to name another organisation's consumer. */
async function requireOwnConsumers(change: Change, { consumers }: TokenIssuerDefinition): Promise<void> {
  const ids = [...new Set(Object.values(consumers ?? {}))];
  const known = new Set((await listConsumersById(change.tx, change.organisation.id, ids)).map((row) => row.id));
  const missing = ids.find((id) => !known.has(id));
  if (missing !== undefined) throw invalidFields({ consumers: "consumer_unknown" });
}

function seal(
  deps: ControlDeps,
  organisationId: string,
  issuerId: string,
  clientSecret: string,
  now: Date,
): IssuerSecret {
  const box = sealSecret(deps.masterKey, clientSecret, issuerSecretContext(organisationId, issuerId));
  return { secretCiphertext: new Uint8Array(box), secretChangedAt: now };
}
