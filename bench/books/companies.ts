/** Two companies that differ in what a lost client and an unknown outcome mean; a tight budget in each runs out. */
import type { Company } from "../harness/company";
import { createCompany } from "../harness/company";
import type { BenchStack } from "../harness/stack";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";

const USD = 1_000_000_000n;

const POLICY: PolicyDocument = {
  ladders: { ...LADDER_TEMPLATES },
  downgrade: { "sandbox-large": "sandbox-small", "sandbox-medium": "sandbox-small" },
  outputCapTokens: 300,
};
const LADDER = Object.keys(LADDER_TEMPLATES)[0] ?? null;

function company(stack: BenchStack, policy: Pick<PolicyDocument, "clientGone" | "unknownOutcome">): Promise<Company> {
  return createCompany(stack, {
    policy: { ...POLICY, ...policy },
    root: {
      name: "company",
      kind: "organization",
      budget: { limit: 1_000n * USD },
      children: [
        {
          name: "roomy",
          kind: "department",
          budget: { limit: 500n * USD, periodKind: "day" },
          children: [{ name: "roomy app", kind: "app", keys: [{}, { trafficClass: "core" }] }],
        },
        {
          name: "tight",
          kind: "department",
          // Runs through every rung within the minute and is then refused: admission at the limit is what law 1 is about.
          budget: { limit: (5n * USD) / 100n, ladder: LADDER },
          children: [{ name: "tight app", kind: "app", keys: [{ trafficClass: "core" }, { trafficClass: "core" }] }],
        },
      ],
    },
  });
}

export async function makeCompanies(stack: BenchStack): Promise<Company[]> {
  const cut = await company(stack, { clientGone: "cut", unknownOutcome: "hold" });
  const drain = await company(stack, { clientGone: "drain", unknownOutcome: "input" });
  return [cut, drain];
}
