/** API keys: list, create, rotate, revoke. A secret travels once, in the answer of create and rotate, and nowhere else. */
import { z } from "zod";
import { KEY_SCOPES } from "@/lib/domain/key-scopes";
import { ENVIRONMENTS } from "@/lib/domain/snapshot";
import { amountText, idText, organisationView, timeMs } from "./common";

const IP_FORMS = [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()];

/** An address or a range. A malformed one would be skipped by whoever compares, and the key would be open or shut by accident. */
const ipOrCidr = z
  .string()
  .trim()
  .max(49, "ip_malformed")
  .refine((text) => IP_FORMS.some((form) => form.safeParse(text).success), "ip_malformed");

export const createApiKeyInput = z.strictObject({
  appId: idText,
  name: z.string().trim().min(1, "required").max(80, "too_long"),
  environment: z.enum(ENVIRONMENTS),
  trafficClass: z.string().min(1).max(40),
  /** Classes a request may claim besides the key's own. */
  entitledClasses: z.array(z.string().min(1).max(40)).max(20),
  /** null: never expires. */
  expiresAtMs: timeMs.nullable(),
  allowedIps: z.array(ipOrCidr).max(50),
  /** Routes it opens; empty: all. */
  scopes: z.array(z.enum(KEY_SCOPES, "scope_unknown")).max(KEY_SCOPES.length).default([]),
  /** Consumers that a call may name in X-Consumer-ID, besides the app and what is below it. */
  entitledConsumers: z.array(idText).max(100).default([]),
});
export type CreateApiKeyInput = z.input<typeof createApiKeyInput>;

/** How long the old secret still works, in seconds. */
export const ROTATION_GRACE_SECONDS = [0, 3600, 86_400, 604_800] as const;

export const rotateApiKeyInput = z.strictObject({
  graceSeconds: z
    .int()
    .min(0)
    .max(30 * 86_400),
});
export type RotateApiKeyInput = z.infer<typeof rotateApiKeyInput>;

/** The key's name, typed by the person: a grave act needs more than a click. */
export const revokeApiKeyInput = z.strictObject({ confirmName: z.string().max(80) });
export type RevokeApiKeyInput = z.infer<typeof revokeApiKeyInput>;

/** Answer of create and rotate: the only time that the secret is seen. */
export const apiKeySecretResult = z.object({ id: idText, auditId: idText, secret: z.string() });
export type ApiKeySecretResult = z.infer<typeof apiKeySecretResult>;

export const API_KEY_STATES = ["active", "expiring", "expired", "frozen", "revoked"] as const;

/** The tightest cost budget above a key: key, app, team, department or organisation. */
export const effectiveBudget = z.object({
  budgetId: idText,
  name: z.string(),
  /** Which node of the chain binds. */
  scope: z.string(),
  consumerName: z.string(),
  limitAmount: amountText,
  usedAmount: amountText,
  leftAmount: amountText,
  usedBasisPoints: z.int().nullable(),
  marks: z.array(z.object({ name: z.string(), atBasisPoints: z.int() })),
  resetsAtMs: timeMs,
});
export type EffectiveBudget = z.infer<typeof effectiveBudget>;

export const apiKeyView = z.object({
  id: idText,
  name: z.string(),
  appId: idText,
  appName: z.string(),
  /** Names from the organisation down to the app. */
  path: z.array(z.string()),
  environment: z.enum(ENVIRONMENTS),
  trafficClass: z.string(),
  entitledClasses: z.array(z.string()),
  allowedIps: z.array(z.string()),
  scopes: z.array(z.string()),
  isVip: z.boolean(),
  secrets: z.array(
    z.object({ prefix: z.string(), lastFour: z.string(), validUntilMs: timeMs.nullable(), createdAtMs: timeMs }),
  ),
  state: z.enum(API_KEY_STATES),
  createdBy: z.string().nullable(),
  createdAtMs: timeMs,
  lastUsedAtMs: timeMs.nullable(),
  expiresAtMs: timeMs.nullable(),
  /** Calls in the last 24 hours, so that a revocation's effect can be stated. */
  requestsLastDay: z.int(),
  effective: effectiveBudget.nullable(),
  canWrite: z.boolean(),
});
export type ApiKeyView = z.infer<typeof apiKeyView>;

export const apiKeyListQuery = z.object({
  q: z.string().trim().max(80).default(""),
  state: z.enum(["all", ...API_KEY_STATES]).default("all"),
  after: z.string().max(64).optional(),
});
export type ApiKeyListQuery = z.infer<typeof apiKeyListQuery>;

export const apiKeyList = z.object({
  organisation: organisationView,
  keys: z.array(apiKeyView),
  total: z.int(),
  next: z.string().nullable(),
  apps: z.array(z.object({ id: idText, name: z.string(), path: z.array(z.string()) })),
  classes: z.array(z.string()),
});
export type ApiKeyList = z.infer<typeof apiKeyList>;
