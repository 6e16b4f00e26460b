import { nothing, writeResult } from "@/lib/contracts/common";
import { writeRoute } from "@/lib/console/route";
import { writeWebhookRetry } from "@/lib/console/webhooks";

export const POST = writeRoute(
  { action: "organisation.update", input: nothing, answer: writeResult },
  writeWebhookRetry,
);
