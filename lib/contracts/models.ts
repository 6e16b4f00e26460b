/** Vendor accounts, models, deployments, prices and exchange rates. */
import { z } from "zod";
import { PROVIDER_KINDS } from "@/lib/domain/provider-kinds";
import { MODEL_KINDS, priceRatesSchema } from "@/lib/domain/snapshot";
import { budgetView } from "./budgets";
import { idText, organisationView, timeMs } from "./common";
import { currencyText } from "./organisations";

const nameText = z.string().trim().min(1, "required").max(200, "too_long");
const httpUrl = z
  .string()
  .max(500)
  .refine((text) => /^https?:\/\//u.test(text) && URL.canParse(text), "url_malformed")
  // A user and password in an address would be shown, logged and copied.
  .refine((text) => !URL.canParse(text) || new URL(text).username === "", "url_has_credentials");

/** How closely a vendor's bill can be compared with the ledger: call by call, by the day, not at all. */
export const BILLING_MODES = ["request", "day", "none"] as const;

export const upsertProviderInput = z.strictObject({
  name: nameText,
  kind: z.enum(PROVIDER_KINDS, "kind_unknown"),
  baseUrl: httpUrl,
  /** Absent: the stored one stays. Write-only. */
  secret: z.string().min(1).max(500).optional(),
  isExternal: z.boolean().default(true),
  billingMode: z.enum(BILLING_MODES).default("none"),
  disabled: z.boolean().default(false),
});
export type UpsertProviderInput = z.input<typeof upsertProviderInput>;

export const upsertModelInput = z.strictObject({
  /** The name in requests. */
  name: nameText,
  kind: z.enum(MODEL_KINDS, "kind_unknown"),
  maxOutputTokens: z.int().positive().nullable().default(null),
  contextTokens: z.int().positive().nullable().default(null),
  isExternal: z.boolean().default(true),
  disabled: z.boolean().default(false),
});
export type UpsertModelInput = z.input<typeof upsertModelInput>;

/** Names of models that a connection test shows at most. */
export const PROVIDER_TEST_MODELS = 1000;

export const PROVIDER_TEST_RESULTS = [
  "ok",
  /** The account or its secret is refused. */
  "auth",
  "network",
  /** This installation may not call there. */
  "refused_address",
  "not_an_api",
  /** An API without a list of models: reachable, the secret untried. */
  "unlisted",
  /** Reachable, but overloaded or limiting. */
  "busy",
] as const;
export const providerTestResult = z.object({
  result: z.enum(PROVIDER_TEST_RESULTS),
  /** Why, as a code, where there was no answer: of the address ("url_private") or of the connection ("timeout"). */
  reason: z.string().nullable(),
  /** In English, for the person who set the account up. Never what the other side wrote. */
  detail: z.string(),
  models: z.array(z.string()).max(PROVIDER_TEST_MODELS),
});
export type ProviderTestResult = z.infer<typeof providerTestResult>;

const stepTimeoutView = z.int().nullable();

export const deploymentView = z.object({
  id: idText,
  modelId: idText,
  modelName: z.string(),
  providerId: idText,
  upstreamModel: z.string(),
  weight: z.int(),
  priority: z.int(),
  region: z.string().nullable(),
  timeoutMs: z.int(),
  connectTimeoutMs: stepTimeoutView,
  firstByteTimeoutMs: stepTimeoutView,
  idleTimeoutMs: stepTimeoutView,
  disabled: z.boolean(),
});
export type DeploymentView = z.infer<typeof deploymentView>;

/** A vendor account as shown: of its secret no more than when it was changed and how it ends. */
export const providerView = z.object({
  id: idText,
  name: z.string(),
  kind: z.enum(PROVIDER_KINDS),
  baseUrl: z.string(),
  isExternal: z.boolean(),
  billingMode: z.enum(BILLING_MODES),
  secretChangedAtMs: timeMs.nullable(),
  secretHint: z.string().nullable(),
  disabled: z.boolean(),
  deployments: z.array(deploymentView),
  /** What may be spent at the account and at its deployments; empty for whoever may not see budgets. */
  budgets: z.array(budgetView),
});
export type ProviderView = z.infer<typeof providerView>;

export const modelView = z.object({
  id: idText,
  name: z.string(),
  kind: z.enum(MODEL_KINDS),
  maxOutputTokens: z.int().nullable(),
  contextTokens: z.int().nullable(),
  isExternal: z.boolean(),
  disabled: z.boolean(),
});
export type ModelView = z.infer<typeof modelView>;

export const providerList = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  providers: z.array(providerView),
  /** All models, for what a deployment may serve. */
  models: z.array(modelView),
  canWrite: z.boolean(),
  /** Whether the reader sets what may be spent at providers. */
  canBudget: z.boolean(),
});
export type ProviderList = z.infer<typeof providerList>;

const stepTimeout = z.int().min(100).max(3_600_000).nullable().default(null);

export const upsertDeploymentInput = z.strictObject({
  modelId: idText,
  providerId: idText,
  /** The name by which the provider knows the model. */
  upstreamModel: nameText,
  weight: z.int().min(0).max(1000).default(1),
  priority: z.int().min(0).max(100).default(0),
  /** Where it runs, by the operator's own names ("eu", "cn-beijing"). */
  region: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,39}$/u, "region_malformed")
    .nullable()
    .default(null),
  /** The whole call. */
  timeoutMs: z.int().min(1_000).max(3_600_000).default(600_000),
  // Null: the gateway's own.
  connectTimeoutMs: stepTimeout,
  firstByteTimeoutMs: stepTimeout,
  /** Longest silence within a stream. */
  idleTimeoutMs: stepTimeout,
  disabled: z.boolean().default(false),
});
export type UpsertDeploymentInput = z.input<typeof upsertDeploymentInput>;

/** Plain decimal text of currency units, at most 9 digits before the point and 18 after. */
export const decimalText = z.string().regex(/^(?:0|[1-9]\d{0,8})(?:\.\d{1,18})?$/u, "amount_malformed");

/**
 * `perMillion`: currency units per million tokens (per request for `perRequest`), as price lists print them. `rates`: all that a
 * row may say, by the single unit. One of the two.
 */
export const addPriceInput = z
  .strictObject({
    modelId: idText,
    currency: currencyText,
    perMillion: z
      .strictObject({
        input: decimalText,
        output: decimalText.optional(),
        cacheRead: decimalText.optional(),
        cacheWrite: decimalText.optional(),
        reasoning: decimalText.optional(),
      })
      .optional(),
    perRequest: decimalText.optional(),
    rates: priceRatesSchema.refine((rates) => Object.keys(rates).length > 0, "required").optional(),
    source: z.string().trim().min(1).max(200).default("manual"),
    /** null: now. May lie in the future, never before the newest row of the model. */
    effectiveFromMs: timeMs.nullable().default(null),
    /** Asked for when a rate is above 10,000 per million or 100 times the last. */
    confirmSuspicious: z.boolean().default(false),
  })
  .refine((input) => (input.perMillion === undefined) !== (input.rates === undefined), {
    path: ["perMillion"],
    message: "one_of_two",
  })
  .refine((input) => input.rates === undefined || input.perRequest === undefined, {
    path: ["perRequest"],
    message: "one_of_two",
  });
export type AddPriceInput = z.input<typeof addPriceInput>;

/** 1 `base` is `rate` `quote`. */
export const addFxRateInput = z.strictObject({
  base: currencyText,
  quote: currencyText,
  rate: decimalText.refine((text) => /[1-9]/u.test(text), "amount_not_positive"),
  source: z.string().trim().min(1).max(200).default("manual"),
  effectiveFromMs: timeMs.nullable().default(null),
});
export type AddFxRateInput = z.input<typeof addFxRateInput>;
