/** Reads the overview. Money comes from rollups; what is in flight comes from the live counters and stands apart. */
import type { Overview, OverviewBudget } from "@/lib/contracts/overview";
import { listNewestRefusals } from "@/lib/db/console-requests";
import { newestBookingMs, sumUsage, sumUsageBy, sumUsageBySpans } from "@/lib/db/console-usage";
import type { UsageSum } from "@/lib/db/console-usage";
import { nextPeriod, periodAt, previousPeriod } from "@/lib/domain/period";
import type { Period, PeriodCalendar } from "@/lib/domain/period";
import type { ConsoleServices } from "@/lib/wiring/console";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { readSnapshot, toOrganisationView } from "./snapshot";
import type { ConsoleSnapshot } from "./snapshot";
import { chainOf, visibleAppIds, visibleTree } from "./tree";
import type { ConsumerTree } from "./tree";

const REFUSALS_SHOWN = 8;
const MODELS_SHOWN = 12;

function toTotals(sum: UsageSum): Overview["today"]["totals"] {
  return {
    amount: sum.amount.toString(),
    requests: Number(sum.requests),
    savedAmount: sum.savedAmount.toString(),
    downgradeRequests: Number(sum.downgradeRequests),
    errorRequests: Number(sum.errorRequests),
  };
}

/** The local days of the month from its first to the one that holds `nowMs`. */
export function daysOfMonth(month: Period, nowMs: number, calendar: PeriodCalendar): Period[] {
  const days: Period[] = [];
  let day = periodAt("day", month.startMs, calendar);
  while (day.startMs < month.endMs && day.startMs <= nowMs) {
    days.push(day);
    day = nextPeriod(day, calendar);
  }
  return days;
}

/** Cost budgets without filters that stand on one of the nodes, for this kind of period: the first of them. */
function topBudget(
  budgets: readonly OverviewBudget[],
  nodeIds: readonly string[],
  kind: "day" | "month",
): OverviewBudget | undefined {
  const plain = budgets.filter(
    (one) =>
      one.meter === "cost" &&
      one.periodKind === kind &&
      one.environment === null &&
      one.models.length === 0 &&
      one.classes.length === 0 &&
      !one.perEndUser,
  );
  for (const id of nodeIds) {
    const found = plain.find((one) => one.consumerId === id);
    if (found !== undefined) return found;
  }
  return undefined;
}

function limitOf(budget: OverviewBudget): string {
  return (BigInt(budget.limitAmount) + BigInt(budget.grantedAmount)).toString();
}

function visibleBudgets(snapshot: ConsoleSnapshot, sees: (id: string) => boolean): OverviewBudget[] {
  return snapshot.states.views.flatMap((view) => {
    const node = view.consumerId === null ? undefined : snapshot.tree.byId.get(view.consumerId);
    if (node === undefined || node.archived || !sees(node.id)) return [];
    return [{ ...view, consumerName: node.name, consumerKind: node.kind }];
  });
}

/** Sums apps up to the node that a reader compares: departments under the organisation, else the next level down. */
function spendByDepartment(
  tree: ConsumerTree,
  rootIds: readonly string[],
  byApp: readonly (UsageSum & { key: string })[],
  budgets: readonly OverviewBudget[],
): Overview["departments"] {
  const sums = new Map<string, { amount: bigint; requests: number }>();
  for (const app of byApp) {
    const chain = chainOf(tree, app.key);
    const top = chain.findIndex((row) => rootIds.includes(row.id));
    const id = chain[top + 1]?.id ?? chain[top]?.id ?? "";
    const sum = sums.get(id) ?? { amount: 0n, requests: 0 };
    sums.set(id, { amount: sum.amount + app.amount, requests: sum.requests + Number(app.requests) });
  }
  for (const id of rootIds) {
    for (const child of tree.childrenOf.get(id) ?? []) {
      if (!child.archived && !sums.has(child.id)) sums.set(child.id, { amount: 0n, requests: 0 });
    }
  }
  return [...sums]
    .sort(([, a], [, b]) => (a.amount === b.amount ? b.requests - a.requests : a.amount < b.amount ? 1 : -1))
    .map(([id, { amount, requests }]) => {
      const budget = topBudget(budgets, [id], "month");
      return {
        id: id === "" ? "unallocated" : id,
        name: tree.byId.get(id)?.name ?? "",
        amount: amount.toString(),
        requests,
        limitAmount: budget === undefined ? null : limitOf(budget),
      };
    });
}

/** The period's spend so far, the same stretch of the period before, and what its budget says. */
async function readRange(
  services: ConsoleServices,
  calendar: PeriodCalendar,
  scope: { readonly organisationId: string; readonly appIds: readonly string[] | null; readonly nowMs: number },
  period: Period,
  top: { readonly budget: OverviewBudget | undefined; readonly live: boolean },
): Promise<Overview["today"]> {
  const sql = services.db.pool;
  const before = previousPeriod(period, calendar);
  const elapsedEnd = Math.min(before.startMs + (scope.nowMs - period.startMs), before.endMs);
  const [now, then] = await Promise.all([
    sumUsage(sql, { ...scope, startMs: period.startMs, endMs: period.endMs }),
    sumUsage(sql, { ...scope, startMs: before.startMs, endMs: elapsedEnd }),
  ]);
  return {
    period,
    totals: toTotals(now),
    previousAmount: then.isEmpty ? null : then.amount.toString(),
    limitAmount: top.budget === undefined ? null : limitOf(top.budget),
    heldAmount: top.budget === undefined || !top.live ? null : top.budget.heldAmount,
  };
}

export async function readOverview(services: ConsoleServices, who: ConsolePrincipal): Promise<Overview> {
  const { organisation } = who;
  const sql = services.db.pool;
  const nowMs = services.clock.nowMs();
  const snapshot = await readSnapshot(services, organisation);
  const visible = visibleTree(snapshot.tree, who.principal, "usage.read");
  const appIds = visibleAppIds(snapshot.tree, visible);
  const scope = { organisationId: organisation.id, appIds };
  const budgets = visibleBudgets(snapshot, visible.has);
  const month = periodAt("month", nowMs, organisation);
  const today = periodAt("day", nowMs, organisation);
  const days = daysOfMonth(month, nowMs, organisation);

  const range = (period: Period, kind: "day" | "month"): Promise<Overview["today"]> =>
    readRange(services, organisation, { ...scope, nowMs }, period, {
      budget: topBudget(budgets, visible.rootIds, kind),
      live: snapshot.states.live,
    });
  const monthRange = { ...scope, startMs: month.startMs, endMs: month.endMs };
  const [todayRange, thisMonth, daySums, byApp, byModel, refusals, bookedThroughMs, backlog] = await Promise.all([
    range(today, "day"),
    range(month, "month"),
    sumUsageBySpans(sql, scope, days),
    sumUsageBy(sql, "app", monthRange),
    sumUsageBy(sql, "model", monthRange),
    listNewestRefusals(sql, organisation.id, appIds, REFUSALS_SHOWN),
    newestBookingMs(sql, organisation.id),
    services.readBacklog([organisation.id]),
  ]);
  return {
    organisation: toOrganisationView(organisation),
    readAtMs: nowMs,
    bookedThroughMs,
    backlog,
    live: snapshot.states.live,
    today: todayRange,
    month: thisMonth,
    days: days.map(({ startMs, endMs }, index) => ({ startMs, endMs, amount: (daySums[index] ?? 0n).toString() })),
    budgets,
    departments: spendByDepartment(snapshot.tree, visible.rootIds, byApp, budgets),
    models: byModel.slice(0, MODELS_SHOWN).map((row) => ({
      model: row.key,
      amount: row.amount.toString(),
      requests: Number(row.requests),
      inputTokens: row.inputTokens.toString(),
      outputTokens: row.outputTokens.toString(),
      savedAmount: row.savedAmount.toString(),
      downgradeRequests: Number(row.downgradeRequests),
    })),
    refusals: refusals.map((row) => ({
      requestId: row.requestId,
      atMs: row.refusedAt.getTime(),
      code: row.code,
      appName: row.appId === null ? null : (snapshot.tree.byId.get(row.appId)?.name ?? null),
      model: row.modelRequested,
    })),
    canRemoveSample: organisation.isSample && isPermitted(who, "sample.remove", [organisation.id]),
  };
}
