/**
 * Reconciles as the worker's job does. During the run every few seconds and with hardly any patience, so that the bill
 * often speaks before the gateway or the sweeper; at the end twice, and the second run must find nothing to correct.
 */
import { setTimeout as pause } from "node:timers/promises";
import { verifyRequestTag } from "@/lib/config/request-tag";
import type { ReconcileResult } from "@/lib/control/reconciliation";
import { reconcileOrganisation } from "@/lib/control/reconciliation";
import { fetchBillPage } from "@/lib/providers/bill";
import { waitUntil } from "@/lib/services/wait";
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

/** Younger than any installation would set them: a call that is still to be settled is taken for an orphan now and then. */
const HASTY_RULES = { orphanAgeMs: 1_500, estimateAgeMs: 4_000 };
const HASTY_EVERY_MS = 4_000;

function depsOf(stack: BenchStack) {
  return { ...stack.books, fetchBillPage, verifyTag: (tag: string) => verifyRequestTag(TEST_PEPPER, tag) };
}

/** Reconciles until stopped. Redis may be away or fenced at any moment: then this round is lost. */
export class HastyReconciler {
  /** Corrections and orphans booked while calls were running. */
  corrections = 0;
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  constructor(stack: BenchStack, companies: readonly Company[]) {
    this.running = this.run(stack, companies);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(stack: BenchStack, companies: readonly Company[]): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await pause(HASTY_EVERY_MS, undefined, { signal }).catch(() => undefined);
      for (const { organisationId } of companies) {
        const result = await reconcileOrganisation(depsOf(stack), organisationId, HASTY_RULES).catch(() => null);
        this.corrections += result?.corrections ?? 0;
      }
    }
  }
}

const BUSY_TIMEOUT_MS = 10_000;

/** Null where the worker's own run, which it begins when it is started, does not end. */
async function reconcile(stack: BenchStack, organisationId: string): Promise<ReconcileResult | null> {
  let result: ReconcileResult | null = null;
  const isDone = async (): Promise<boolean> => {
    result = await reconcileOrganisation(depsOf(stack), organisationId, RULES);
    return result !== null;
  };
  await waitUntil(isDone, { timeoutMs: BUSY_TIMEOUT_MS, everyMs: 50 });
  return result;
}

export async function reconcileAll(stack: BenchStack, companies: readonly Company[]): Promise<Reconciled[]> {
  const results: Reconciled[] = [];
  for (const { organisationId } of companies) {
    const first = await reconcile(stack, organisationId);
    const second = await reconcile(stack, organisationId);
    results.push({ organisationId, first, second });
  }
  return results;
}
