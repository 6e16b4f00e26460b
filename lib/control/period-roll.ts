/** What changes because time passed: periods open by themselves, but what hung on the last one is put away here. */
import { closeAlertsOfOtherPeriods } from "@/lib/db/alerts";
import { findOrganisation } from "@/lib/db/organisations";
import { calendarOf } from "@/lib/domain/entities";
import { PERIOD_KINDS, periodAt } from "@/lib/domain/period";
import type { RecoveryDeps } from "./recovery";

/**
 * Rewrites the limits, so that grants that ended leave Redis (the reserve script ignores them in any case), and closes the
 * alerts of past periods. Returns how many were closed. Safe to repeat.
 */
export async function rollPeriods(deps: RecoveryDeps, organisationId: string): Promise<number> {
  const organisation = await findOrganisation(deps.db.prisma, organisationId);
  if (organisation === null) return 0;
  await deps.publish(organisationId, { force: true });
  const calendar = calendarOf(organisation);
  const current = PERIOD_KINDS.map((kind) => periodAt(kind, deps.clock.nowMs(), calendar).id);
  return closeAlertsOfOtherPeriods(deps.db.pool, organisationId, current);
}
