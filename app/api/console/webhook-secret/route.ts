import { writeResult } from "@/lib/contracts/common";
import { replaceWebhookSecretInput, revokeWebhookSecretInput, webhookSecretResult } from "@/lib/contracts/webhooks";
import { writeRoute } from "@/lib/console/route";
import { writeWebhookSecret, writeWebhookSecretRevocation } from "@/lib/console/webhooks";

export const POST = writeRoute(
  { action: "organisation.update", input: replaceWebhookSecretInput, answer: webhookSecretResult },
  writeWebhookSecret,
);

export const DELETE = writeRoute(
  { action: "organisation.update", input: revokeWebhookSecretInput, answer: writeResult },
  writeWebhookSecretRevocation,
);
