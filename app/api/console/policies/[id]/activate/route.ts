import { writeResult } from "@/lib/contracts/common";
import { activatePolicyInput } from "@/lib/contracts/policies";
import { writePolicyActivation } from "@/lib/console/policies";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "policy.write", input: activatePolicyInput, answer: writeResult },
  writePolicyActivation,
);
