import { writeResult } from "@/lib/contracts/common";
import { endRolloutInput } from "@/lib/contracts/policies";
import { writeRolloutEnd } from "@/lib/console/policies";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "policy.write", input: endRolloutInput, answer: writeResult },
  writeRolloutEnd,
);
