/** The organisation's webhook secret: whether there is one, and a new one. */
import "server-only";
import type { WebhookSecretResult, WebhookSecretView } from "@/lib/contracts/webhooks";
import { replaceSecretOfWebhooks } from "@/lib/control/webhook-secrets";
import { findWebhookSecret } from "@/lib/db/webhook-secrets";
import { controlFor } from "./control";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";

export async function readWebhookSecret({ organisation }: ConsolePrincipal): Promise<WebhookSecretView> {
  const { db, clock } = services();
  const row = await findWebhookSecret(db.prisma, organisation.id);
  const untilMs = row?.previousUntil?.getTime() ?? 0;
  return {
    changedAtMs: row?.changedAt.getTime() ?? null,
    previousUntilMs: untilMs > clock.nowMs() ? untilMs : null,
  };
}

export async function writeWebhookSecret(call: WriteCall<unknown, unknown>): Promise<WebhookSecretResult> {
  const ref = { organisationId: call.who.organisation.id };
  return replaceSecretOfWebhooks(controlFor("webhook_secret.replace", call), call.who.principal, ref);
}
