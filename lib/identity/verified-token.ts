/** What a proved token comes to, the same for signed and introspected ones, and the claims it is read from. Pure. */
import type { Environment } from "@/lib/domain/snapshot";
import type { TokenIssuer } from "./issuer";

export interface VerifiedToken {
  readonly ok: true;
  readonly organisationId: string;
  readonly issuerId: string;
  readonly consumerId: string;
  /** The provider's name for the person, as it stands; null where the mapping names no claim or the token has none. */
  readonly user: string | null;
  /** Null: not limited by scopes. */
  readonly scopes: readonly string[] | null;
  readonly environment: Environment;
  readonly trafficClass: string;
  readonly entitledClasses: readonly string[];
  /** Unix ms. */
  readonly expiresAtMs: number;
  /** SHA-256 of the whole token, hex: for keys of caches and counters. The token itself is kept nowhere. */
  readonly tokenHash: string;
}

/** For the log, not for the caller: to whom every refused token looks the same. */
export type TokenRefusalReason =
  | "malformed"
  | "unknown_issuer"
  | "algorithm_not_allowed"
  | "unknown_key"
  | "bad_signature"
  | "expired"
  | "not_yet_valid"
  | "wrong_issuer"
  | "wrong_audience"
  | "inactive"
  | "claims_missing"
  /** The identity provider cannot be asked: the token may be good, so this is a 503 and no 401. */
  | "unavailable";

export interface RefusedToken {
  readonly ok: false;
  readonly reason: TokenRefusalReason;
}

export type TokenVerdict = VerifiedToken | RefusedToken;

export function refusedToken(reason: TokenRefusalReason): RefusedToken {
  return { ok: false, reason };
}

export type Claims = Readonly<Record<string, unknown>>;

const MAX_CLAIM_LENGTH = 256;
const MAX_SCOPES = 100;

/** A claim by its path; own members only, so that `constructor` names nothing. */
function claimAt(claims: Claims, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value;
}

function textAt(claims: Claims, path: readonly string[] | null): string | null {
  const value = path === null ? null : claimAt(claims, path);
  return typeof value === "string" && value !== "" && value.length <= MAX_CLAIM_LENGTH ? value : null;
}

/** A scope claim that is there but is neither text nor list grants nothing. */
function scopesAt(claims: Claims, path: readonly string[] | null): readonly string[] | null {
  if (path === null) return null;
  const value = claimAt(claims, path);
  const list: unknown[] = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
  return list.filter((scope): scope is string => typeof scope === "string" && scope !== "").slice(0, MAX_SCOPES);
}

function consumerOf(issuer: TokenIssuer, claims: Claims): string | undefined {
  const claimed = textAt(claims, issuer.claims.consumer);
  if (claimed === null) return undefined;
  if (issuer.consumers === null) return claimed;
  return Object.hasOwn(issuer.consumers, claimed) ? issuer.consumers[claimed] : undefined;
}

/** Maps claims that are already proved. `claims_missing` where they name no consumer of the mapping. */
export function tokenFromClaims(
  issuer: TokenIssuer,
  claims: Claims,
  proof: { readonly expiresAtMs: number; readonly tokenHash: string },
): TokenVerdict {
  const consumerId = consumerOf(issuer, claims);
  if (consumerId === undefined) return refusedToken("claims_missing");
  return {
    ok: true,
    organisationId: issuer.organisationId,
    issuerId: issuer.id,
    consumerId,
    user: textAt(claims, issuer.claims.user),
    scopes: scopesAt(claims, issuer.claims.scopes),
    environment: issuer.environment,
    trafficClass: issuer.trafficClass,
    entitledClasses: issuer.entitledClasses,
    ...proof,
  };
}
