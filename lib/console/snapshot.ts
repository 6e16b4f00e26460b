/** What every page starts from: the tree and the budgets on it, read once a request. */
import { listConsumers } from "@/lib/db/console-consumers";
import { listKeyNames } from "@/lib/db/console-keys";
import { listLiveBudgets } from "@/lib/db/console-budgets";
import type { OrganisationView } from "@/lib/contracts/common";
import type { OrganisationRow } from "@/lib/db/console-consumers";
import type { ConsoleServices } from "@/lib/wiring/console";
import { readBudgetStates } from "./budget-state";
import type { BudgetStates } from "./budget-state";
import { buildTree } from "./tree";
import type { ConsumerTree } from "./tree";

export interface ConsoleSnapshot {
  readonly tree: ConsumerTree;
  readonly states: BudgetStates;
  /** Keys that have budgets of their own. */
  readonly budgetedKeys: ReadonlyMap<string, { readonly name: string; readonly appId: string }>;
}

export function toOrganisationView(row: OrganisationRow): OrganisationView {
  return { id: row.id, name: row.name, currency: row.currency, timeZone: row.timeZone, isSample: row.isSample };
}

export async function readTree(services: ConsoleServices, organisationId: string): Promise<ConsumerTree> {
  return buildTree(organisationId, await listConsumers(services.db.pool, organisationId));
}

export async function readSnapshot(services: ConsoleServices, organisation: OrganisationRow): Promise<ConsoleSnapshot> {
  const sql = services.db.pool;
  const [tree, budgets] = await Promise.all([
    readTree(services, organisation.id),
    listLiveBudgets(sql, organisation.id),
  ]);
  const keyIds = budgets.flatMap((budget) => budget.apiKeyId ?? []);
  const keys = keyIds.length === 0 ? [] : await listKeyNames(sql, organisation.id, keyIds);
  const budgetedKeys = new Map(keys.map(({ id, name, appId }) => [id, { name, appId }]));
  const states = await readBudgetStates(services, organisation, tree, (keyId) => budgetedKeys.get(keyId)?.appId);
  return { tree, states, budgetedKeys };
}
