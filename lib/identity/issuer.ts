/**
 * Identity providers an organisation trusts for calls without an API key: who issues the tokens, how they are proved, and
 * which claims name the consumer and the user. An issuer belongs to one organisation, so a token says by its issuer alone
 * whose money it may spend.
 */
import { z } from "zod";
import { AppError } from "@/lib/domain/fault";
import { ENVIRONMENTS } from "@/lib/domain/snapshot";

/** Signatures by a private key of the provider (RFC 7518, RFC 8037). Never `none`, never HS*, whose key would be the public one. */
export const SIGNATURE_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** Names from the outside in: claims of some providers contain dots and slashes, so a path is a list and not a text. */
const claimPath = z.array(z.string().min(1).max(200)).min(1).max(5);

const common = {
  id: z.string().min(1).max(64),
  organisationId: z.string().min(1).max(64),
  /** `iss` exactly as the tokens carry it. */
  issuer: z.string().min(1).max(500),
  /** One of these must be in `aud`. */
  audiences: z.array(z.string().min(1).max(500)).min(1).max(20),
  clockToleranceSeconds: z.int().min(0).max(300).default(30),
  claims: z.object({
    consumer: claimPath,
    user: claimPath.nullable().default(null),
    /** Space-separated text (RFC 8693) or a list. Null: the token is not limited by scopes. */
    scopes: claimPath.nullable().default(null),
  }),
  /** Claimed value to consumer id. Null: the claim is the consumer id itself. */
  consumers: z.record(z.string().max(200), z.string().max(64)).nullable().default(null),
  environment: z.enum(ENVIRONMENTS).default("production"),
  trafficClass: z.string().min(1).max(60),
  entitledClasses: z.array(z.string().min(1).max(60)).max(20).default([]),
} as const;

const jwksIssuer = z.object({
  ...common,
  kind: z.literal("jwks"),
  jwksUrl: z.url().max(2000),
  algorithms: z.array(z.enum(SIGNATURE_ALGORITHMS)).min(1).default(["RS256", "ES256"]),
});

const introspectionIssuer = z.object({
  ...common,
  kind: z.literal("introspection"),
  introspectionUrl: z.url().max(2000),
  clientId: z.string().min(1).max(200),
  /** Opaque tokens name nobody: those that begin so are asked of this issuer. Empty: every opaque token. */
  tokenPrefix: z.string().max(60).default(""),
});

export const tokenIssuerSchema = z.discriminatedUnion("kind", [jwksIssuer, introspectionIssuer]);
export type TokenIssuer = z.infer<typeof tokenIssuerSchema>;
export type JwksIssuer = Extract<TokenIssuer, { kind: "jwks" }>;
export type IntrospectionIssuer = Extract<TokenIssuer, { kind: "introspection" }>;

/** The issuers of an installation, found by what a token says before anything about it is proved. */
export interface IssuerRegistry {
  byIssuer(issuer: string): TokenIssuer | undefined;
  /** The issuer with the longest prefix of an opaque token. */
  forOpaqueToken(token: string): IntrospectionIssuer | undefined;
}

/**
 * Throws AppError `conflict` where one issuer or one token prefix is claimed twice: which organisation pays must not depend
 * on the order of a list.
 */
export function issuerRegistry(issuers: readonly TokenIssuer[]): IssuerRegistry {
  const byIssuer = new Map<string, TokenIssuer>();
  const byPrefix = new Map<string, IntrospectionIssuer>();
  for (const entry of issuers) {
    if (byIssuer.has(entry.issuer)) throw claimedTwice("issuer", entry.issuer);
    byIssuer.set(entry.issuer, entry);
    if (entry.kind !== "introspection") continue;
    if (byPrefix.has(entry.tokenPrefix)) throw claimedTwice("token prefix", entry.tokenPrefix);
    byPrefix.set(entry.tokenPrefix, entry);
  }
  const longestFirst = [...byPrefix.values()].sort((a, b) => b.tokenPrefix.length - a.tokenPrefix.length);
  return {
    byIssuer: (issuer) => byIssuer.get(issuer),
    forOpaqueToken: (token) => longestFirst.find((entry) => token.startsWith(entry.tokenPrefix)),
  };
}

function claimedTwice(what: string, value: string): AppError {
  return new AppError("conflict", `the ${what} "${value.slice(0, 100)}" belongs to one organisation only`);
}
