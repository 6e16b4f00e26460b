import { writeResult } from "@/lib/contracts/common";
import { publishPolicyVersionInput } from "@/lib/contracts/policies";
import { writePolicyVersion } from "@/lib/console/policies";
import { writeRoute } from "@/lib/console/route";

export const POST = writeRoute(
  { action: "policy.write", input: publishPolicyVersionInput, answer: writeResult, maxBytes: 1024 * 1024 },
  writePolicyVersion,
);
