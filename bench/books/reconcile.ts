/** Reconciles as the worker's job does, twice: the second run over the same books must find nothing to correct. */
import { verifyRequestTag } from "@/lib/config/request-tag";
import type { ReconcileResult } from "@/lib/control/reconciliation";
import { reconcileOrganisation } from "@/lib/control/reconciliation";
import { fetchBillPage } from "@/lib/providers/bill";
import { TEST_PEPPER } from "@/lib/testing/factories";
import type { Company } from "../harness/company";
import type { BenchStack } from "../harness/stack";

export interface Reconciled {
  readonly organisationId: string;
  readonly first: ReconcileResult | null;
  readonly second: ReconcileResult | null;
}

/** Traffic is over and nothing is open: no line of the bill and no estimate has to be waited for. */
const RULES = { orphanAgeMs: 0, estimateAgeMs: 0 };

export async function reconcileAll(stack: BenchStack, companies: readonly Company[]): Promise<Reconciled[]> {
  const deps = { ...stack.books, fetchBillPage, verifyTag: (tag: string) => verifyRequestTag(TEST_PEPPER, tag) };
  const results: Reconciled[] = [];
  for (const { organisationId } of companies) {
    const first = await reconcileOrganisation(deps, organisationId, RULES);
    const second = await reconcileOrganisation(deps, organisationId, RULES);
    results.push({ organisationId, first, second });
  }
  return results;
}
