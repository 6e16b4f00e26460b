import { writeResult } from "@/lib/contracts/common";
import { assignPolicyInput } from "@/lib/contracts/policies";
import { writePolicyAssignment } from "@/lib/console/policies";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "policy.assign", input: assignPolicyInput, answer: writeResult },
  writePolicyAssignment,
);
