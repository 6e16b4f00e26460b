/**
 * The PolicySnapshot: what the control plane compiles from Postgres and pushes to Redis, one JSON document an entity,
 * so that a change pushes one field. The gateway knows the world by these documents only. Amounts (limits, grants,
 * freezes of budgets) are not in them: they stand beside the counters and are read fresh by every reserve.
 */
import { z } from "zod";
import { PERIOD_KINDS } from "./period";
import { policyDocumentSchema } from "./policy";
import { priceRatesSchema } from "./price-rates";

export { priceRatesSchema, type PriceRates } from "./price-rates";

export const METERS = ["cost", "input_tokens", "output_tokens", "total_tokens", "requests"] as const;
export type Meter = (typeof METERS)[number];
export const ENFORCEMENTS = ["enforce", "warn", "shadow"] as const;
export type Enforcement = (typeof ENFORCEMENTS)[number];
export const CONSUMER_KINDS = ["organization", "department", "team", "app", "user"] as const;
export type ConsumerKind = (typeof CONSUMER_KINDS)[number];
export const ENVIRONMENTS = ["production", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
/** What a model is asked for; a route serves the models of its kind. */
export const MODEL_KINDS = [
  "chat",
  "embedding",
  "image",
  "transcription",
  "speech",
  "moderation",
  "rerank",
  "completion",
  /** A path that goes as it is, priced by the call. */
  "passthrough",
] as const;

export const organisationDocument = z.object({
  id: z.string(),
  name: z.string(),
  currency: z.string(),
  timeZone: z.string(),
  fiscalYearStartMonth: z.int(),
  weekStartsOn: z.int(),
  locale: z.string(),
  /** HTTP status of money refusals: 429 or 402. */
  budgetRefusalStatus: z.int(),
  topUpUrl: z.string().nullable(),
});
export type OrganisationDocument = z.infer<typeof organisationDocument>;

export const consumerDocument = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  kind: z.enum(CONSUMER_KINDS),
  name: z.string(),
  costCentre: z.string().nullable(),
  policyId: z.string().nullable(),
  frozen: z.boolean(),
});
export type ConsumerDocument = z.infer<typeof consumerDocument>;

/** Found by the HMAC of the secret; the same key id may stand under two hashes while a rotation's grace lasts. */
export const apiKeyDocument = z.object({
  keyId: z.string(),
  appId: z.string(),
  name: z.string(),
  environment: z.enum(ENVIRONMENTS),
  trafficClass: z.string(),
  entitledClasses: z.array(z.string()),
  isVip: z.boolean(),
  allowedIps: z.array(z.string()),
  // Documents written before these existed say nothing of them.
  /** KEY_SCOPES; empty opens every route. */
  scopes: z.array(z.string()).default([]),
  /** May be named in X-Consumer-ID besides the key's app and what is below it. */
  entitledConsumers: z.array(z.string()).default([]),
  policyId: z.string().nullable(),
  /** Unix ms; the earlier of the key's expiry and this secret's end of grace. */
  validUntilMs: z.number().nullable(),
  frozen: z.boolean(),
});
export type ApiKeyDocument = z.infer<typeof apiKeyDocument>;

export const budgetDocument = z.object({
  id: z.string(),
  consumerId: z.string().nullable(),
  apiKeyId: z.string().nullable(),
  name: z.string(),
  meter: z.enum(METERS),
  periodKind: z.enum(PERIOD_KINDS),
  enforcement: z.enum(ENFORCEMENTS),
  ladder: z.string().nullable(),
  environment: z.enum(ENVIRONMENTS).nullable(),
  models: z.array(z.string()),
  classes: z.array(z.string()),
  /** The limit is of each end user, who has a counter of his own (`endUserPeriodId`). */
  perEndUser: z.boolean().default(false),
  /** Of the provider or deployment that it limits, whoever calls; absent where it stands at a consumer or key. */
  targetId: z.string().optional(),
});
export type BudgetDocument = z.infer<typeof budgetDocument>;

export const rateLimitDocument = z.object({
  id: z.string(),
  consumerId: z.string().nullable(),
  apiKeyId: z.string().nullable(),
  /** Documents written before this existed say nothing of it. */
  requestsPerSecond: z.int().nullable().default(null),
  requestsPerMinute: z.int().nullable(),
  burstRequests: z.int().nullable(),
  tokensPerMinute: z.int().nullable(),
  concurrency: z.int().nullable(),
});
export type RateLimitDocument = z.infer<typeof rateLimitDocument>;

export const policySnapshotDocument = z.object({
  id: z.string(),
  active: z.object({ versionId: z.string(), document: policyDocumentSchema }).nullable(),
  /** Exposed to consumers whose bucket (0..99, stable hash of policy id and consumer id) is below `percent`. */
  rollout: z.object({ versionId: z.string(), percent: z.int(), document: policyDocumentSchema }).nullable(),
});
export type PolicySnapshotDocument = z.infer<typeof policySnapshotDocument>;

export const priceDocument = z.object({
  id: z.string(),
  currency: z.string(),
  rates: priceRatesSchema,
  effectiveFromMs: z.number(),
  effectiveToMs: z.number().nullable(),
});
export type PriceDocument = z.infer<typeof priceDocument>;

export const modelDocument = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  maxOutputTokens: z.int().nullable(),
  /** Input and output together; null: not known. */
  contextTokens: z.int().nullable().default(null),
  isExternal: z.boolean(),
  disabled: z.boolean(),
  createdMs: z.number(),
  deployments: z.array(
    z.object({
      id: z.string(),
      providerId: z.string(),
      upstreamModel: z.string(),
      weight: z.int(),
      priority: z.int(),
      /** The whole call. */
      timeoutMs: z.int(),
      /** Where it runs, by the operator's own names. */
      region: z.string().nullable().default(null),
      /** Null: the gateway's own. */
      connectTimeoutMs: z.int().nullable().default(null),
      firstByteTimeoutMs: z.int().nullable().default(null),
      /** Longest silence within a stream. */
      idleTimeoutMs: z.int().nullable().default(null),
    }),
  ),
  /** Present and coming rows, earliest first. */
  prices: z.array(priceDocument),
});
export type ModelDocument = z.infer<typeof modelDocument>;

export const providerDocument = z.object({
  id: z.string(),
  kind: z.string(),
  name: z.string(),
  baseUrl: z.string(),
  /** base64 of the AES-256-GCM box; null where the vendor wants no secret. */
  secretBox: z.string().nullable(),
  isExternal: z.boolean(),
  disabled: z.boolean(),
});
export type ProviderDocument = z.infer<typeof providerDocument>;

const claimPath = z.array(z.string());

/**
 * An identity provider whose tokens call instead of API keys. What `lib/identity` trusts (`tokenIssuerSchema`), with the
 * client secret of introspection sealed beside it; a test holds the two together.
 */
export const tokenIssuerDocument = z.object({
  id: z.string(),
  organisationId: z.string(),
  kind: z.enum(["jwks", "introspection"]),
  issuer: z.string(),
  audiences: z.array(z.string()),
  clockToleranceSeconds: z.int(),
  claims: z.object({ consumer: claimPath, user: claimPath.nullable(), scopes: claimPath.nullable() }),
  /** Claimed value to consumer id; null: the claim is the id itself. */
  consumers: z.record(z.string(), z.string()).nullable(),
  environment: z.enum(ENVIRONMENTS),
  trafficClass: z.string(),
  entitledClasses: z.array(z.string()),
  // Of signed tokens.
  jwksUrl: z.string().optional(),
  algorithms: z.array(z.string()).optional(),
  // Of introspection.
  introspectionUrl: z.string().optional(),
  clientId: z.string().optional(),
  tokenPrefix: z.string().optional(),
  /** base64 of the AES-256-GCM box under `issuerSecretContext`; null where there is none. */
  secretBox: z.string().nullable(),
});
export type TokenIssuerDocument = z.infer<typeof tokenIssuerDocument>;

/** 1 `base` = `rate` `quote` from `effectiveFromMs` until the next row of the pair. */
export const fxDocument = z.array(
  z.object({ id: z.string(), base: z.string(), quote: z.string(), rate: z.string(), effectiveFromMs: z.number() }),
);
export type FxDocument = z.infer<typeof fxDocument>;

/** Field names of the snapshot hash: one letter, a colon and the id. */
export const SNAPSHOT_FIELDS = {
  organisation: "o",
  fx: "x",
  consumer: (id: string) => `c:${id}`,
  budget: (id: string) => `b:${id}`,
  rateLimit: (id: string) => `r:${id}`,
  policy: (id: string) => `p:${id}`,
  model: (id: string) => `m:${id}`,
  provider: (id: string) => `v:${id}`,
  issuer: (id: string) => `t:${id}`,
  /** Not in the snapshot hash but in the key hash and the change log. */
  key: (hash: string) => `k:${hash}`,
} as const;

/** The live amounts of a budget, as they stand in its limit hash. Amounts are decimal integer texts. */
export interface BudgetAmounts {
  readonly limit: string;
  readonly overflow: string;
  readonly frozen: boolean;
  /** By period id: additions with their own span in Unix ms. */
  readonly grants: Readonly<Record<string, readonly { amount: string; startsMs: number; endsMs: number }[]>>;
}
