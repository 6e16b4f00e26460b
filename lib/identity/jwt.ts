/**
 * JSON Web Tokens (RFC 7519, RFC 9068) of configured issuers, verified by jose: signature by a key of the issuer, algorithm
 * from its list, issuer and audience pinned, an expiry required. Bad input is a verdict, never an error.
 */
import { createHash } from "node:crypto";
import type { JWTPayload } from "jose";
import { decodeJwt, errors, jwtVerify } from "jose";
import type { Clock } from "@/lib/domain/clock";
import { BoundedCache } from "./bounded-cache";
import type { JwksIssuer } from "./issuer";
import type { JwksCache } from "./jwks";
import { KeysUnavailable } from "./jwks";
import type { TokenRefusalReason, TokenVerdict } from "./verified-token";
import { refusedToken, tokenFromClaims } from "./verified-token";

/** Longest token worth looking at, signed or opaque. Node refuses headers over 16 KiB in sum anyway. */
export const MAX_TOKEN_LENGTH = 8192;

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/u;

/** Claims that were proved a short while ago. Only what was proved is kept: strangers displace nothing. */
export type ProvedClaims = BoundedCache<JWTPayload>;

const MAX_PROVED = 5_000;
/** A key that its provider withdrew may still prove for so long, besides the age of the key set. */
const PROVED_MS = 30_000;

export function createProvedClaims(): ProvedClaims {
  return new BoundedCache(MAX_PROVED);
}

export interface JwtDeps {
  readonly keys: JwksCache;
  readonly clock: Clock;
  readonly proved: ProvedClaims;
}

/** SHA-256 of the whole token in hex: two tokens with a long common beginning have nothing in common here. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** The issuer a token claims, before anything is proved; undefined where the text is no signed JWT. */
export function claimedIssuer(token: string): string | undefined {
  if (token.length > MAX_TOKEN_LENGTH || !COMPACT_JWS.test(token)) return undefined;
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === "string" ? iss : undefined;
  } catch {
    return undefined;
  }
}

function claimReason(error: errors.JWTClaimValidationFailed): TokenRefusalReason {
  if (error.claim === "aud") return "wrong_audience";
  if (error.claim === "iss") return "wrong_issuer";
  if (error.claim === "nbf") return "not_yet_valid";
  return "claims_missing";
}

function reasonOf(error: unknown): TokenRefusalReason {
  if (error instanceof KeysUnavailable) return "unavailable";
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed) return claimReason(error);
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return "algorithm_not_allowed";
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return "unknown_key";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "bad_signature";
  // What is left: texts that are no JWS, and key material that cannot be used.
  return "malformed";
}

/** All that a proof rests on. A changed issuer or a new set of keys proves anew. */
function proofKey(issuer: JwksIssuer, tokenHash: string, { keys }: JwtDeps): string {
  const { jwksUrl, audiences, algorithms, clockToleranceSeconds } = issuer;
  const version = keys.versionOf(jwksUrl);
  return JSON.stringify([issuer.issuer, jwksUrl, audiences, algorithms, clockToleranceSeconds, version, tokenHash]);
}

async function proveClaims(token: string, issuer: JwksIssuer, nowMs: number, deps: JwtDeps): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, (header, input) => deps.keys.key(issuer.jwksUrl, header, input), {
    issuer: issuer.issuer,
    audience: [...issuer.audiences],
    algorithms: [...issuer.algorithms],
    clockTolerance: issuer.clockToleranceSeconds,
    currentDate: new Date(nowMs),
    requiredClaims: ["exp"],
  });
  return payload;
}

/** Proves a token that claims this issuer. Its claims are read anew at every call, the signature only once in a while. */
export async function verifyJwt(token: string, issuer: JwksIssuer, deps: JwtDeps): Promise<TokenVerdict> {
  if (token.length > MAX_TOKEN_LENGTH || !COMPACT_JWS.test(token)) return refusedToken("malformed");
  const nowMs = deps.clock.nowMs();
  const tokenHash = hashToken(token);
  const known = deps.proved.get(proofKey(issuer, tokenHash, deps), nowMs);
  try {
    const payload = known ?? (await proveClaims(token, issuer, nowMs, deps));
    const expiresAtMs = (payload.exp ?? 0) * 1000;
    // The key set may have been fetched for this very token.
    if (!known) deps.proved.set(proofKey(issuer, tokenHash, deps), payload, Math.min(expiresAtMs, nowMs + PROVED_MS));
    return tokenFromClaims(issuer, payload, { expiresAtMs, tokenHash });
  } catch (error) {
    return refusedToken(reasonOf(error));
  }
}
