/** Calls that were priced by a policy's fallback, since their model has no price: somebody has to enter one. */
import { hasOpenAlert, insertAlerts, listModelsPricedBy } from "@/lib/db/alerts";
import { newId } from "@/lib/domain/ids";
import { FALLBACK_PRICE_ID } from "@/lib/domain/policy";
import type { BookkeepingDeps } from "./bookkeeping";

/** One open alert for each model that was served so since then; returns the ids of new ones. Safe to repeat. */
export async function raiseFallbackAlerts(
  deps: BookkeepingDeps,
  organisationId: string,
  since: Date,
): Promise<string[]> {
  const raised: string[] = [];
  for (const subject of await listModelsPricedBy(deps.db.pool, organisationId, FALLBACK_PRICE_ID, since)) {
    if (await hasOpenAlert(deps.db.pool, organisationId, "fallback_price", subject)) continue;
    const about = { budgetId: null, periodId: null, threshold: null, kind: "fallback_price", detail: { subject } };
    const alert = { id: newId("alr", deps.clock.nowMs()), organisationId, ...about };
    raised.push(...(await insertAlerts(deps.db.pool, [alert])));
  }
  return raised;
}
