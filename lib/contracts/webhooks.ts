/** The secret that webhooks are signed with. It travels once, in the answer of the write that makes it. */
import { z } from "zod";
import { idText, timeMs } from "./common";

export const webhookSecretView = z.object({
  /** null: there is none yet. */
  changedAtMs: timeMs.nullable(),
  /** Until when the one before signs too; null where it does not. */
  previousUntilMs: timeMs.nullable(),
});
export type WebhookSecretView = z.infer<typeof webhookSecretView>;

export const webhookSecretResult = z.object({
  auditId: idText,
  secret: z.string(),
  previousUntilMs: timeMs.nullable(),
});
export type WebhookSecretResult = z.infer<typeof webhookSecretResult>;
