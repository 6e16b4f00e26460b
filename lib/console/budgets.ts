/** Reads the budget tree and the history of a budget. */
import type { BudgetHistory, BudgetNode, BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { listAuditOf, listGrantIds } from "@/lib/db/console-budgets";
import type { AuditRow } from "@/lib/db/console-budgets";
import { listModelNames } from "@/lib/db/console-consumers";
import type { ConsumerRow } from "@/lib/db/console-consumers";
import { AppError } from "@/lib/domain/fault";
import { TRAFFIC_CLASSES } from "@/lib/domain/policy";
import type { ConsoleServices } from "@/lib/wiring/console";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { readSnapshot, toOrganisationView } from "./snapshot";
import type { ConsoleSnapshot } from "./snapshot";
import { pathOf, visibleTree, walkVisible } from "./tree";

/** The plain monthly cost limit of a node: what is compared when money is handed down. */
function monthlyLimit(views: readonly BudgetView[]): bigint | undefined {
  const budget = views.find(
    (one) =>
      one.meter === "cost" &&
      one.periodKind === "month" &&
      one.environment === null &&
      one.models.length === 0 &&
      one.classes.length === 0 &&
      !one.perEndUser,
  );
  return budget === undefined ? undefined : BigInt(budget.limitAmount);
}

function toNode(snapshot: ConsoleSnapshot, who: ConsolePrincipal, row: ConsumerRow, depth: number): BudgetNode {
  const budgetsOf = (id: string): BudgetView[] => snapshot.states.views.filter((view) => view.consumerId === id);
  const path = pathOf(snapshot.tree, row.id);
  const own = monthlyLimit(budgetsOf(row.id));
  const children = (snapshot.tree.childrenOf.get(row.id) ?? [])
    .filter((child) => !child.archived)
    .flatMap((child) => monthlyLimit(budgetsOf(child.id)) ?? []);
  return {
    id: row.id,
    parentId: depth === 0 ? null : row.parentId,
    kind: row.kind,
    name: row.name,
    costCentre: row.costCentre,
    frozen: row.frozen,
    depth,
    budgets: budgetsOf(row.id),
    allocation:
      own === undefined || children.length === 0
        ? null
        : { limitAmount: own.toString(), childrenAmount: children.reduce((sum, one) => sum + one, 0n).toString() },
    canWrite: isPermitted(who, "budget.write", path),
    canGrant: isPermitted(who, "grant.write", path),
    canFreeze: isPermitted(who, "budget.freeze", path),
  };
}

/** Keys with budgets of their own stand below their app. */
function keyNodes(snapshot: ConsoleSnapshot, who: ConsolePrincipal, appId: string, depth: number): BudgetNode[] {
  const path = pathOf(snapshot.tree, appId);
  return [...snapshot.budgetedKeys]
    .filter(([, key]) => key.appId === appId)
    .map(([id, key]) => ({
      id,
      parentId: appId,
      kind: "key" as const,
      name: key.name,
      costCentre: null,
      frozen: false,
      depth,
      budgets: snapshot.states.views.filter((view) => view.apiKeyId === id),
      allocation: null,
      canWrite: isPermitted(who, "budget.write", path),
      canGrant: isPermitted(who, "grant.write", path),
      canFreeze: isPermitted(who, "budget.freeze", path),
    }));
}

export async function readBudgetTree(services: ConsoleServices, who: ConsolePrincipal): Promise<BudgetTree> {
  const readAtMs = services.clock.nowMs();
  const [snapshot, models] = await Promise.all([
    readSnapshot(services, who.organisation),
    listModelNames(services.db.pool, who.organisation.id),
  ]);
  const visible = visibleTree(snapshot.tree, who.principal, "budget.read");
  const nodes = walkVisible(snapshot.tree, visible).flatMap(({ row, depth }) => [
    toNode(snapshot, who, row, depth),
    ...(row.kind === "app" ? keyNodes(snapshot, who, row.id, depth + 1) : []),
  ]);
  return {
    organisation: toOrganisationView(who.organisation),
    readAtMs,
    nodes,
    ladders: Object.entries(snapshot.states.ladders).map(([name, ladder]) => ({ name, ladder })),
    models,
    classes: [...TRAFFIC_CLASSES],
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** What differs between the two sides of an audit row. Times of bookkeeping are no change that a person made. */
export function changesOf(
  row: Pick<AuditRow, "before" | "after">,
): { field: string; before: unknown; after: unknown }[] {
  const before = fieldsOf(row.before);
  const after = fieldsOf(row.after);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !["id", "createdAt", "updatedAt", "organisationId", "limitVersion", "createdById"].includes(name),
  );
  return names
    .filter((name) => JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name] ?? null))
    .map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
}

/** Throws `not_found` when there is no such budget or it lies outside what the person may see. */
export async function readBudgetHistory(
  services: ConsoleServices,
  who: ConsolePrincipal,
  budgetId: string,
): Promise<BudgetHistory> {
  const snapshot = await readSnapshot(services, who.organisation);
  const view = snapshot.states.views.find((one) => one.id === budgetId);
  const nodeId = view?.consumerId ?? snapshot.budgetedKeys.get(view?.apiKeyId ?? "")?.appId;
  if (nodeId === undefined || !isPermitted(who, "budget.read", pathOf(snapshot.tree, nodeId))) {
    throw new AppError("not_found", "There is no such budget");
  }
  const sql = services.db.pool;
  const grantIds = await listGrantIds(sql, who.organisation.id, budgetId);
  const rows = await listAuditOf(sql, who.organisation.id, "budget", [budgetId, ...grantIds]);
  return {
    entries: rows.map((row) => ({
      auditId: row.id,
      atMs: row.atMs,
      actor: row.actor.replace(/ <[^>]*>$/u, ""),
      action: row.action,
      changes: changesOf(row),
    })),
  };
}
