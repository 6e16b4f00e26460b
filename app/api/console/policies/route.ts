import { writeResult } from "@/lib/contracts/common";
import { createPolicyInput, policyList } from "@/lib/contracts/policies";
import { readPolicies, writeNewPolicy } from "@/lib/console/policies";
import { noQuery, readRoute, writeRoute } from "@/lib/console/route";

export const GET = readRoute({ action: "policy.read", query: noQuery, answer: policyList }, ({ who }) =>
  readPolicies(who),
);

export const POST = writeRoute(
  { action: "policy.write", input: createPolicyInput, answer: writeResult },
  writeNewPolicy,
);
