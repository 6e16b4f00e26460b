/** The secret that webhooks are signed with, which travels once, in the answer of the write that makes it; and what was posted. */
import { z } from "zod";
import { idText, organisationView, timeMs } from "./common";
import { ROTATION_GRACE_SECONDS } from "./keys";

export const webhookSecretView = z.object({
  /** null: there is none yet. */
  changedAtMs: timeMs.nullable(),
  /** Until when the one before signs too; null where it does not. */
  previousUntilMs: timeMs.nullable(),
});
export type WebhookSecretView = z.infer<typeof webhookSecretView>;

/** How long the one before signs too. */
export const replaceWebhookSecretInput = z.strictObject({
  graceSeconds: z
    .int()
    .refine((value) => ROTATION_GRACE_SECONDS.some((one) => one === value), "kind_unknown")
    .default(86_400),
});
export type ReplaceWebhookSecretInput = z.input<typeof replaceWebhookSecretInput>;

export const revokeWebhookSecretInput = z.strictObject({ which: z.enum(["previous", "all"]) });
export type RevokeWebhookSecretInput = z.infer<typeof revokeWebhookSecretInput>;

export const webhookSecretResult = z.object({
  auditId: idText,
  secret: z.string(),
  previousUntilMs: timeMs.nullable(),
});
export type WebhookSecretResult = z.infer<typeof webhookSecretResult>;

export const WEBHOOK_STATES = ["waiting", "delivered", "failed"] as const;

export const webhookListQuery = z.object({
  state: z.enum(["", ...WEBHOOK_STATES]).default(""),
  /** `<createdAtMs>.<id>` of the last row seen. */
  after: z.string().max(80).default(""),
});
export type WebhookListQuery = z.infer<typeof webhookListQuery>;

export const webhookView = z.object({
  id: idText,
  /** What it tells: "deferred_call.done". */
  type: z.string(),
  /** Of what it tells: the id of a deferred call. */
  aboutId: z.string().nullable(),
  requestId: z.string().nullable(),
  /** Host of the receiver: the whole address may be good for posting by itself. null: it cannot be read any more. */
  host: z.string().nullable(),
  state: z.enum(WEBHOOK_STATES),
  attempts: z.int(),
  retries: z.int(),
  /** `lib/domain/webhook.ts`; null: no attempt has failed. */
  lastFailure: z.string().nullable(),
  createdAtMs: timeMs,
  endedAtMs: timeMs.nullable(),
});
export type WebhookView = z.infer<typeof webhookView>;

export const webhookList = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  secret: webhookSecretView,
  rows: z.array(webhookView),
  next: z.string().nullable(),
});
export type WebhookList = z.infer<typeof webhookList>;
