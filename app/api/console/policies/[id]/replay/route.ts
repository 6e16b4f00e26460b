import { policyReplay, replayQuery } from "@/lib/contracts/policies";
import { readPolicyReplay } from "@/lib/console/rollouts";
import { readRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import type { WithId } from "@/lib/console/writes";

export const GET = readRoute<typeof replayQuery, typeof policyReplay, WithId>(
  { action: "policy.read", query: replayQuery, answer: policyReplay },
  ({ who, params, query }) => readPolicyReplay(services(), who, params.id, query.version),
);
