import { writeResult } from "@/lib/contracts/common";
import { holdRolloutInput } from "@/lib/contracts/policies";
import { writeRolloutHold } from "@/lib/console/policies";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "policy.write", input: holdRolloutInput, answer: writeResult },
  writeRolloutHold,
);
