/**
 * Who calls: `Authorization: Bearer`, `x-api-key` (Anthropic SDK), `api-key` (Azure SDK) or `x-goog-api-key` (Gemini SDK), with a key
 * of ours or a token of the organisation's identity provider.
 */
import { parseApiKey } from "@/lib/domain/api-key";
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { END_USER_HEADER, endUserName } from "@/lib/identity/end-user";
import { attribute } from "@/lib/identity/entitlement";
import type { Authenticated, Classified, Received } from "../exchange";
import type { GatewayRequest } from "../http";
import type { KnownKey, KnownKeys } from "../known-keys";
import type { CallerChain } from "../organisation-view";
import { viewOf } from "../organisation-view";
import type { KeyHasher } from "../ports";
import { SESSION_HEADER } from "../session-call";
import type { DeferredRun } from "./defer";
import type { TokenCaller, TokenDeps } from "./token-caller";
import { tokenCaller } from "./token-caller";

export interface AuthenticateDeps extends TokenDeps {
  readonly hasher: KeyHasher;
  readonly knownKeys: KnownKeys;
  /** Whether the scopes of a key open a path; asked only where it has scopes. */
  readonly mayUsePath: (scopes: readonly string[], path: string) => boolean;
  readonly isAddressAllowed: (allowList: readonly string[], address: string | undefined) => boolean;
}

/** How keys of ours begin: what begins so is never shown to an identity provider. */
const OWN_PREFIX = "sw_";

function presentedKey(headers: GatewayRequest["headers"]): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    // What nearly every client sends; any other spelling of the scheme takes the longer way.
    if (authorization.startsWith("Bearer sw_")) return authorization.slice("Bearer ".length);
    return /^Bearer\s+(\S+)$/iu.exec(authorization)?.[1] ?? null;
  }
  return headers.get("x-api-key") ?? headers.get("api-key") ?? headers.get("x-goog-api-key");
}

function readKey(text: string, hasher: KeyHasher): KnownKey | undefined {
  const parsed = parseApiKey(text);
  if (!parsed.ok) return undefined;
  const { organisationId, environment } = parsed;
  return { organisationId, environment, hash: hasher.hash(text) };
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
  // Unknown, malformed, expired and revoked keys look the same, and so do tokens.
  if (text === null) return denial("invalid_api_key");
  const known = deps.knownKeys.get(text);
  if (!known && !text.startsWith(OWN_PREFIX)) {
    const token = await tokenCaller(text, deps);
    return isDenial(token) ? token : admitted(received, headers, clientAddress, token, deps);
  }
  const read = known ?? readKey(text, deps.hasher);
  if (!read) return denial("invalid_api_key");
  const snapshot = await deps.policies.organisation(read.organisationId);
  if (!snapshot) return denial("invalid_api_key");
  const key = await deps.policies.apiKey(read.organisationId, read.hash);
  if (!key) {
    if (known) deps.knownKeys.gone(text);
    return denial("invalid_api_key");
  }
  if (!known) deps.knownKeys.found(text, read);
  if (key.environment !== read.environment) return denial("invalid_api_key");
  if (key.validUntilMs !== null && nowMs >= key.validUntilMs) return denial("invalid_api_key");
  const caller = { key, callerId: key.keyId, view: viewOf(snapshot), userId: null, endUser: null };
  return admitted(received, headers, clientAddress, caller, deps);
}

/** A deferred call of a key, whose address and secret were looked at when it was taken. */
export async function authenticateRun(
  received: Received,
  headers: GatewayRequest["headers"],
  run: DeferredRun,
  nowMs: number,
  deps: AuthenticateDeps,
): Promise<Authenticated | Denial> {
  const snapshot = await deps.policies.organisation(run.organisationId);
  const key = await deps.policies.apiKey(run.organisationId, run.keyHash);
  if (!snapshot || !key || (key.validUntilMs !== null && nowMs >= key.validUntilMs)) return denial("invalid_api_key");
  const caller = { key: { ...key, allowedIps: [] }, callerId: key.keyId, view: viewOf(snapshot), userId: null };
  return admitted(received, headers, undefined, { ...caller, endUser: null }, deps);
}

function admitted(
  received: Received,
  headers: GatewayRequest["headers"],
  clientAddress: string | undefined,
  known: TokenCaller,
  deps: AuthenticateDeps,
): Authenticated | Denial {
  const { key, callerId, view } = known;
  const { requestId, startedMs, route, path, language } = received;
  if (key.allowedIps.length > 0 && !deps.isAddressAllowed(key.allowedIps, clientAddress)) {
    return denial("consumer_forbidden", { detail: "this key may not be used from this address" });
  }
  if (key.scopes.length > 0 && !deps.mayUsePath(key.scopes, path)) {
    return denial("consumer_forbidden", { detail: "this key may not use this route" });
  }
  const claimed = headers.get("x-consumer-id");
  const isPlain = known.userId === null && (claimed === null || claimed === key.appId);
  const chain = isPlain ? view.chainOf(key) : chainOfClaim(known, claimed);
  // A key whose app is gone is no key; a consumer that may not be named is not said to exist.
  if (!chain) return denial(isPlain ? "invalid_api_key" : "consumer_forbidden");
  if (key.frozen || chain.isFrozen) return denial("consumer_frozen");
  const said = known.endUser === null ? headers.get(END_USER_HEADER) : null;
  const endUser = said === null ? known.endUser : headerEndUser(said);
  if (isDenial(endUser)) return endUser;
  // Written out here and below: copying an object by spreading costs more than authenticating it.
  return { requestId, startedMs, route, path, language, key, callerId, view, chain, endUser };
}

function chainOfClaim({ view, key, userId, endUser }: TokenCaller, claimed: string | null): CallerChain | undefined {
  const entitlement = {
    ownId: key.appId,
    consumerIds: userId === null ? [] : [userId],
    // A person speaks for himself: the others below the app are not his to name.
    subtreeIds: endUser === null ? [key.appId, ...key.entitledConsumers] : [],
  };
  const attribution = attribute(entitlement, claimed, view.consumers);
  return attribution.ok ? view.chainFor(key, attribution.consumerId, userId) : undefined;
}

function headerEndUser(said: string): string | null | Denial {
  const named = endUserName({ header: said, bodyUser: null, bodyMetadataUserId: null });
  return named.ok ? named.name : denial("invalid_request", { param: named.param, detail: named.detail });
}

/** The traffic class comes from the key; a request may claim another only if its key is entitled to it. */
export function classify(caller: Authenticated, headers: GatewayRequest["headers"]): Classified {
  const claim = headers.get("x-spillway-class") ?? (headers.get("priority")?.toUpperCase() === "HIGH" ? "core" : null);
  const own = caller.key.trafficClass;
  const isOwn = claim === null || claim === own;
  const isEntitled = isOwn || caller.key.entitledClasses.includes(claim);
  const { requestId, startedMs, route, path, language, key, callerId, view, chain, endUser } = caller;
  return {
    requestId,
    startedMs,
    route,
    path,
    language,
    key,
    callerId,
    view,
    chain,
    endUser,
    trafficClass: isOwn || !isEntitled ? own : claim,
    ignoredClaim: isEntitled ? null : claim.slice(0, 60),
    session: headers.get(SESSION_HEADER),
  };
}
