import { writeResult } from "@/lib/contracts/common";
import { rolloutHistory, startRolloutInput } from "@/lib/contracts/policies";
import { writeRollout } from "@/lib/console/policies";
import { readRolloutHistory } from "@/lib/console/rollouts";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import type { WithId } from "@/lib/console/writes";

export const GET = readRoute<typeof noQuery, typeof rolloutHistory, WithId>(
  { action: "policy.read", query: noQuery, answer: rolloutHistory },
  ({ who, params }) => readRolloutHistory(services(), who, params.id),
);

/** Starts the exposure of a version, or moves it to another share. */
export const POST = writeRoute({ action: "policy.write", input: startRolloutInput, answer: writeResult }, writeRollout);
