import { nothing } from "@/lib/contracts/common";
import { webhookSecretResult, webhookSecretView } from "@/lib/contracts/webhooks";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";
import { readWebhookSecret, writeWebhookSecret } from "@/lib/console/webhook-secret";

export const GET = readRoute({ action: "organisation.update", query: noQuery, answer: webhookSecretView }, ({ who }) =>
  readWebhookSecret(who),
);

export const POST = writeRoute(
  { action: "organisation.update", input: nothing, answer: webhookSecretResult },
  writeWebhookSecret,
);
