/**
 * JSON Web Tokens (RFC 7519, RFC 9068) of configured issuers, verified by jose: signature by a key of the issuer, algorithm
 * from its list, issuer and audience pinned, an expiry required. Bad input is a verdict, never an error.
 */
import { createHash } from "node:crypto";
import { decodeJwt, errors, jwtVerify } from "jose";
import type { Clock } from "@/lib/domain/clock";
import type { JwksIssuer } from "./issuer";
import type { JwksCache } from "./jwks";
import { KeysUnavailable } from "./jwks";
import type { TokenRefusalReason, TokenVerdict } from "./verified-token";
import { refusedToken, tokenFromClaims } from "./verified-token";

/** Longest token worth looking at, signed or opaque. Node refuses headers over 16 KiB in sum anyway. */
export const MAX_TOKEN_LENGTH = 8192;

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/u;

export interface JwtDeps {
  readonly keys: JwksCache;
  readonly clock: Clock;
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

/** Proves a token that claims this issuer. */
export async function verifyJwt(token: string, issuer: JwksIssuer, deps: JwtDeps): Promise<TokenVerdict> {
  if (token.length > MAX_TOKEN_LENGTH || !COMPACT_JWS.test(token)) return refusedToken("malformed");
  try {
    const { payload } = await jwtVerify(token, (header, input) => deps.keys.key(issuer.jwksUrl, header, input), {
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      algorithms: [...issuer.algorithms],
      clockTolerance: issuer.clockToleranceSeconds,
      currentDate: new Date(deps.clock.nowMs()),
      requiredClaims: ["exp"],
    });
    const expiresAtMs = (payload.exp ?? 0) * 1000;
    return tokenFromClaims(issuer, payload, { expiresAtMs, tokenHash: hashToken(token) });
  } catch (error) {
    return refusedToken(reasonOf(error));
  }
}
