/** A token of an organisation's identity provider to the key it stands for: one that exists for this call only. */
import type { ApiKeyDocument } from "@/lib/domain/snapshot";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { endUserName } from "@/lib/identity/end-user";
import type { VerifiedToken } from "@/lib/identity/verified-token";
import type { OrganisationView } from "../organisation-view";
import { viewOf } from "../organisation-view";
import type { PolicySource, VerifyToken } from "../ports";

export interface TokenDeps {
  readonly policies: PolicySource;
  readonly verifyToken: VerifyToken;
}

export interface TokenCaller {
  readonly key: ApiKeyDocument;
  readonly callerId: string;
  readonly view: OrganisationView;
  /** The consumer of the person, where the organisation has one. */
  readonly userId: string | null;
  /** The person by the provider's word; null where it says none. */
  readonly endUser: string | null;
}

const RETRY_MS = 1_000;
/** Names no route: scopes that are there but empty open nothing, while a key without scopes opens all. */
const NOTHING = ["none"];

function keyOf(token: VerifiedToken): ApiKeyDocument {
  const { issuerId, consumerId, environment, trafficClass, entitledClasses, scopes, expiresAtMs } = token;
  return {
    keyId: issuerId,
    appId: consumerId,
    name: issuerId,
    environment,
    trafficClass,
    entitledClasses: [...entitledClasses],
    isVip: false,
    allowedIps: [],
    scopes: scopes === null ? [] : scopes.length === 0 ? NOTHING : [...scopes],
    entitledConsumers: [],
    policyId: null,
    validUntilMs: expiresAtMs,
    frozen: false,
  };
}

/** The consumer that is this person: by its id, or by its name below the one the token speaks for; null where there is none. */
function userOf(view: OrganisationView, { user, consumerId }: VerifiedToken): string | null {
  if (user === null || view.consumers.get(user)?.kind === "user") return user;
  return view.userBelow(consumerId, user)?.id ?? null;
}

/** Every token that is not proved looks the same; only a provider that cannot be asked is told apart. Throws StoreUnavailable. */
export async function tokenCaller(text: string, deps: TokenDeps): Promise<TokenCaller | Denial> {
  const token = await deps.verifyToken(text);
  if (!token.ok) {
    return token.reason === "unavailable"
      ? denial("identity_provider_unavailable", { retryAfterMs: RETRY_MS })
      : denial("invalid_api_key");
  }
  const snapshot = await deps.policies.organisation(token.organisationId);
  if (!snapshot) return denial("invalid_api_key");
  const view = viewOf(snapshot);
  const named = endUserName({ header: token.user, bodyUser: null, bodyMetadataUserId: null });
  if (!named.ok || !view.consumers.has(token.consumerId)) return denial("invalid_api_key");
  const callerId = JSON.stringify([token.issuerId, token.consumerId, token.user]);
  return { key: keyOf(token), callerId, view, userId: userOf(view, token), endUser: named.name };
}
