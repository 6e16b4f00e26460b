/** Key to caller: `Authorization: Bearer`, `x-api-key` (Anthropic SDK), `api-key` (Azure SDK) or `x-goog-api-key` (Gemini SDK). */
import { parseApiKey } from "@/lib/domain/api-key";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import type { Authenticated, Classified, Received } from "../exchange";
import type { GatewayRequest } from "../http";
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
  if (authorization !== null) {
    // What nearly every client sends; any other spelling of the scheme takes the longer way.
    if (authorization.startsWith("Bearer sw_")) return authorization.slice("Bearer ".length);
    return /^Bearer\s+(\S+)$/iu.exec(authorization)?.[1] ?? null;
  }
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
  const view = viewOf(snapshot);
  const chain = view.chainOf(key);
  if (!chain) return denial("invalid_api_key");
  const { requestId, startedMs, route, path, language } = received;
  // Written out here and below: copying an object by spreading costs more than authenticating it.
  const caller = { requestId, startedMs, route, path, language, keyHash, key, view, chain };
  return refusalOf(caller, headers, clientAddress, deps) ?? caller;
}

function refusalOf(
  { key, chain, path }: Authenticated,
  headers: GatewayRequest["headers"],
  clientAddress: string | undefined,
  deps: AuthenticateDeps,
): Denial | undefined {
  if (key.allowedIps.length > 0 && !deps.isAddressAllowed(key.allowedIps, clientAddress)) {
    return denial("consumer_forbidden", { detail: "this key may not be used from this address" });
  }
  const { scopes } = key;
  if (scopes.length > 0 && !deps.mayUsePath(scopes, path)) {
    return denial("consumer_forbidden", { detail: "this key may not use this route" });
  }
  const claimed = headers.get("x-consumer-id");
  if (claimed !== null && claimed !== key.appId) return denial("consumer_forbidden");
  if (key.frozen || chain.isFrozen) return denial("consumer_frozen");
  return undefined;
}

/** The traffic class comes from the key; a request may claim another only if its key is entitled to it. */
export function classify(caller: Authenticated, headers: GatewayRequest["headers"]): Classified {
  const claim = headers.get("x-spillway-class") ?? (headers.get("priority")?.toUpperCase() === "HIGH" ? "core" : null);
  const own = caller.key.trafficClass;
  const isOwn = claim === null || claim === own;
  const isEntitled = isOwn || caller.key.entitledClasses.includes(claim);
  const { requestId, startedMs, route, path, language, keyHash, key, view, chain } = caller;
  return {
    requestId,
    startedMs,
    route,
    path,
    language,
    keyHash,
    key,
    view,
    chain,
    trafficClass: isOwn || !isEntitled ? own : claim,
    ignoredClaim: isEntitled ? null : claim.slice(0, 60),
  };
}
