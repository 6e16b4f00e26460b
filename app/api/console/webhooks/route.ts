import { webhookList, webhookListQuery } from "@/lib/contracts/webhooks";
import { readRoute } from "@/lib/console/route";
import { readWebhooks } from "@/lib/console/webhooks";

export const GET = readRoute(
  { action: "organisation.update", query: webhookListQuery, answer: webhookList },
  ({ who, query }) => readWebhooks(who, query),
);
