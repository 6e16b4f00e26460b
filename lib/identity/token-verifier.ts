/** Any token that is no API key of ours to a verdict: signed ones by their issuer, opaque ones by asking. */
import type { Introspector } from "./introspection";
import type { IssuerRegistry } from "./issuer";
import { claimedIssuer, MAX_TOKEN_LENGTH, verifyJwt } from "./jwt";
import type { JwtDeps } from "./jwt";
import type { TokenVerdict } from "./verified-token";
import { refusedToken } from "./verified-token";

export interface TokenVerifierDeps extends JwtDeps {
  /** The issuers as they stand now: a change of configuration bites at the next token. */
  readonly issuers: () => IssuerRegistry;
  readonly introspector: Introspector;
}

export type TokenVerifier = (token: string) => Promise<TokenVerdict>;

/** The verifier never rejects, whatever the token is. */
export function createTokenVerifier(deps: TokenVerifierDeps): TokenVerifier {
  return async (token) => {
    if (token === "" || token.length > MAX_TOKEN_LENGTH) return refusedToken("malformed");
    const issuers = deps.issuers();
    const claimed = claimedIssuer(token);
    // A token that names an issuer is a matter of that issuer alone: it does not fall back to another's opaque tokens.
    const issuer = claimed === undefined ? issuers.forOpaqueToken(token) : issuers.byIssuer(claimed);
    if (!issuer) return refusedToken("unknown_issuer");
    return issuer.kind === "jwks" ? verifyJwt(token, issuer, deps) : deps.introspector.verify(token, issuer);
  };
}
