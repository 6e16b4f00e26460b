/** Identity providers whose tokens call instead of API keys. What they mean is `lib/identity`. */
import { z } from "zod";
import { ENVIRONMENTS } from "@/lib/domain/snapshot";
import { idText, organisationView, timeMs } from "./common";

/** Signatures by a private key of the provider (RFC 7518, RFC 8037). */
export const SIGNATURE_ALGORITHMS = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const),
] as const;

const className = z.string().min(1).max(40);
const claimPath = z.array(z.string().min(1).max(200)).min(1).max(5);
const endpoint = z.string().max(2000);

const common = {
  name: z.string().trim().min(1, "required").max(80, "too_long"),
  /** `iss` exactly as the tokens carry it. */
  issuer: z.string().min(1, "required").max(500, "too_long"),
  audiences: z.array(z.string().min(1).max(500)).min(1, "required").max(20),
  clockToleranceSeconds: z.int().min(0).max(300).default(30),
  claims: z.strictObject({
    consumer: claimPath,
    user: claimPath.nullable().default(null),
    scopes: claimPath.nullable().default(null),
  }),
  /** Claimed value to consumer id; null: the claim is the id itself. */
  consumers: z
    .record(z.string().min(1).max(200), idText)
    .refine((map) => Object.keys(map).length <= 1000, "too_long")
    .nullable()
    .default(null),
  environment: z.enum(ENVIRONMENTS).default("production"),
  trafficClass: className.default("general"),
  entitledClasses: z.array(className).max(20).default([]),
  disabled: z.boolean().default(false),
} as const;

export const saveTokenIssuerInput = z.discriminatedUnion("kind", [
  z.strictObject({
    ...common,
    kind: z.literal("jwks"),
    jwksUrl: endpoint,
    algorithms: z.array(z.enum(SIGNATURE_ALGORITHMS)).min(1, "required").default(["RS256", "ES256"]),
  }),
  z.strictObject({
    ...common,
    kind: z.literal("introspection"),
    introspectionUrl: endpoint,
    clientId: z.string().min(1, "required").max(200, "too_long"),
    /** Absent: the stored one stays. Write-only. */
    clientSecret: z.string().min(1).max(500).optional(),
    /** Opaque tokens that begin so are asked of this issuer; empty: all. */
    tokenPrefix: z.string().max(60, "too_long").default(""),
  }),
]);
export type SaveTokenIssuerInput = z.input<typeof saveTokenIssuerInput>;

const claimPathView = z.array(z.string());

/** An issuer as shown and edited: all but the client secret, of which only when it was changed. */
export const tokenIssuerView = z.object({
  id: idText,
  name: z.string(),
  kind: z.enum(["jwks", "introspection"]),
  issuer: z.string(),
  audiences: z.array(z.string()),
  endpoint: z.string(),
  /** Of signed tokens. */
  algorithms: z.array(z.string()),
  clientId: z.string().nullable(),
  tokenPrefix: z.string(),
  clockToleranceSeconds: z.int(),
  claims: z.object({
    consumer: claimPathView,
    user: claimPathView.nullable(),
    scopes: claimPathView.nullable(),
  }),
  consumers: z.record(z.string(), z.string()).nullable(),
  environment: z.enum(ENVIRONMENTS),
  trafficClass: z.string(),
  entitledClasses: z.array(z.string()),
  secretChangedAtMs: timeMs.nullable(),
  disabled: z.boolean(),
});
export type TokenIssuerView = z.infer<typeof tokenIssuerView>;

export const tokenIssuerList = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  issuers: z.array(tokenIssuerView),
  /** What a claimed value may stand for; names from the root on. */
  consumers: z.array(z.object({ id: idText, path: z.array(z.string()) })),
  classes: z.array(z.string()),
});
export type TokenIssuerList = z.infer<typeof tokenIssuerList>;
