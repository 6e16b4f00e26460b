/** Key to caller: `Authorization: Bearer`, `x-api-key` (Anthropic SDK), `api-key` (Azure SDK) or `x-goog-api-key` (Gemini SDK). */
import { parseApiKey } from "@/lib/domain/api-key";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { Authenticated, Classified, Received } from "../exchange";
import type { GatewayRequest } from "../http";
import type { OrganisationView } from "../organisation-view";
import { viewOf } from "../organisation-view";
import type { KeyHasher, PolicySource } from "../ports";

export interface AuthenticateDeps {
  readonly policies: PolicySource;
  readonly hasher: KeyHasher;
  /** Whether the scopes of a key open a path; asked only where it has scopes. */
  readonly mayUsePath: (scopes: readonly string[], path: string) => boolean;
  readonly isAddressAllowed: (allowList: readonly string[], address: string | undefined) => boolean;
}

function presentedKey(headers: GatewayRequest["headers"]): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) return /^Bearer\s+(\S+)$/iu.exec(authorization)?.[1] ?? null;
  return headers.get("x-api-key") ?? headers.get("api-key") ?? headers.get("x-goog-api-key");
}

/** The caller under the newest view this process has; called again after the view caught up. */
export async function authenticate(
  received: Received,
  headers: GatewayRequest["headers"],
  clientAddress: string | undefined,
  nowMs: number,
  deps: AuthenticateDeps,
): Promise<Authenticated | Denial> {
  const text = presentedKey(headers);
  const parsed = text === null ? { ok: false as const } : parseApiKey(text);
  // Unknown, malformed, expired and revoked keys look the same.
  if (text === null || !parsed.ok) return denial("invalid_api_key");
  const snapshot = await deps.policies.organisation(parsed.organisationId);
  if (!snapshot) return denial("invalid_api_key");
  const keyHash = deps.hasher.hash(text);
  const key = await deps.policies.apiKey(parsed.organisationId, keyHash);
  if (!key || key.environment !== parsed.environment) return denial("invalid_api_key");
  if (key.validUntilMs !== null && nowMs >= key.validUntilMs) return denial("invalid_api_key");
  return admit({ ...received, keyHash, key }, viewOf(snapshot), headers, clientAddress, deps);
}

function admit(
  known: Received & Pick<Authenticated, "key" | "keyHash">,
  view: OrganisationView,
  headers: GatewayRequest["headers"],
  clientAddress: string | undefined,
  deps: AuthenticateDeps,
): Authenticated | Denial {
  const chain = view.chainOf(known.key);
  if (!chain) return denial("invalid_api_key");
  if (known.key.allowedIps.length > 0 && !deps.isAddressAllowed(known.key.allowedIps, clientAddress)) {
    return denial("consumer_forbidden", { detail: "this key may not be used from this address" });
  }
  const { scopes } = known.key;
  if (scopes.length > 0 && !deps.mayUsePath(scopes, known.path)) {
    return denial("consumer_forbidden", { detail: "this key may not use this route" });
  }
  const claimed = headers.get("x-consumer-id");
  if (claimed !== null && claimed !== known.key.appId) return denial("consumer_forbidden");
  if (known.key.frozen || chain.isFrozen) return denial("consumer_frozen");
  return { ...known, view, chain };
}

/** The traffic class comes from the key; a request may claim another only if its key is entitled to it. */
export function classify(caller: Authenticated, headers: GatewayRequest["headers"]): Classified {
  const claim = headers.get("x-spillway-class") ?? (headers.get("priority")?.toUpperCase() === "HIGH" ? "core" : null);
  const own = caller.key.trafficClass;
  if (claim === null || claim === own) return { ...caller, trafficClass: own, ignoredClaim: null };
  const isEntitled = caller.key.entitledClasses.includes(claim);
  return { ...caller, trafficClass: isEntitled ? claim : own, ignoredClaim: isEntitled ? null : claim.slice(0, 60) };
}
