/** Reads API keys with the budget that binds each of them. Never selects or returns a secret or its hash. */
import type { ApiKeyList, ApiKeyListQuery, ApiKeyView, EffectiveBudget } from "@/lib/contracts/keys";
import type { BudgetView } from "@/lib/contracts/budgets";
import { countApiKeys, listSecretHints, searchApiKeys } from "@/lib/db/console-keys";
import type { ApiKeyRow, ApiKeySearch, ApiKeySecretRow } from "@/lib/db/console-keys";
import { countRequestsByKey } from "@/lib/db/console-usage";
import { TRAFFIC_CLASSES } from "@/lib/domain/policy";
import type { ConsoleServices } from "@/lib/wiring/console";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { readSnapshot, toOrganisationView } from "./snapshot";
import type { ConsoleSnapshot } from "./snapshot";
import { chainOf, pathOf, visibleTree } from "./tree";

const PAGE_SIZE = 50;
const DAY_MS = 86_400_000;
/** "Expiring" says so two weeks ahead: enough to rotate without haste. */
const SOON_MS = 14 * DAY_MS;

function leftOf(view: BudgetView): bigint {
  return BigInt(view.limitAmount) + BigInt(view.grantedAmount) - BigInt(view.spentAmount) - BigInt(view.heldAmount);
}

/** The enforced cost budget of the chain with the least money left; it stops the key first. */
export function tightestBudget(
  views: readonly BudgetView[],
  chain: readonly { readonly id: string; readonly kind: string; readonly name: string }[],
  key: { readonly id: string; readonly name: string; readonly environment: string; readonly trafficClass: string },
): EffectiveBudget | null {
  const scopes = new Map([...chain, { id: key.id, kind: "key", name: key.name }].map((node) => [node.id, node]));
  const binding = views
    .filter((view) => view.meter === "cost" && view.enforcement === "enforce" && !view.perEndUser)
    .filter((view) => view.models.length === 0)
    .filter((view) => view.environment === null || view.environment === key.environment)
    .filter((view) => view.classes.length === 0 || view.classes.includes(key.trafficClass))
    .filter((view) => scopes.has(view.consumerId ?? view.apiKeyId ?? ""))
    .reduce<BudgetView | undefined>(
      (best, view) => (best === undefined || leftOf(view) < leftOf(best) ? view : best),
      undefined,
    );
  const node = scopes.get(binding?.consumerId ?? binding?.apiKeyId ?? "");
  if (binding === undefined || node === undefined) return null;
  const used = BigInt(binding.spentAmount) + BigInt(binding.heldAmount);
  return {
    budgetId: binding.id,
    name: binding.name,
    scope: node.kind,
    consumerName: node.name,
    limitAmount: (BigInt(binding.limitAmount) + BigInt(binding.grantedAmount)).toString(),
    usedAmount: used.toString(),
    leftAmount: leftOf(binding).toString(),
    usedBasisPoints: binding.usedBasisPoints,
    marks: binding.marks,
    resetsAtMs: binding.period.endMs,
  };
}

function stateOf(row: ApiKeyRow, nowMs: number): ApiKeyView["state"] {
  if (row.revokedAt !== null) return "revoked";
  if (row.frozenAt !== null) return "frozen";
  if (row.expiresAt === null) return "active";
  if (row.expiresAt.getTime() <= nowMs) return "expired";
  return row.expiresAt.getTime() <= nowMs + SOON_MS ? "expiring" : "active";
}

function toView(
  row: ApiKeyRow,
  snapshot: ConsoleSnapshot,
  who: ConsolePrincipal,
  secrets: readonly ApiKeySecretRow[],
  requestsLastDay: number,
  nowMs: number,
): ApiKeyView {
  const chain = chainOf(snapshot.tree, row.appId);
  return {
    id: row.id,
    name: row.name,
    appId: row.appId,
    appName: chain.at(-1)?.name ?? row.appId,
    path: chain.map((node) => node.name),
    environment: row.environment,
    trafficClass: row.trafficClass,
    entitledClasses: [...row.entitledClasses],
    allowedIps: [...row.allowedIps],
    scopes: [...row.scopes],
    isVip: row.isVip,
    secrets: secrets
      .filter((secret) => secret.validUntil === null || secret.validUntil.getTime() > nowMs)
      .map((secret) => ({
        prefix: secret.prefix,
        lastFour: secret.lastFour,
        validUntilMs: secret.validUntil?.getTime() ?? null,
        createdAtMs: secret.createdAt.getTime(),
      })),
    state: stateOf(row, nowMs),
    createdBy: row.createdBy,
    createdAtMs: row.createdAt.getTime(),
    lastUsedAtMs: row.lastUsedAt?.getTime() ?? null,
    expiresAtMs: row.expiresAt?.getTime() ?? null,
    requestsLastDay,
    effective: tightestBudget(snapshot.states.views, chain, row),
    canWrite:
      row.revokedAt === null &&
      isPermitted(
        who,
        "key.write",
        chain.map((node) => node.id),
      ),
  };
}

export async function readApiKeys(
  services: ConsoleServices,
  who: ConsolePrincipal,
  query: ApiKeyListQuery,
): Promise<ApiKeyList> {
  const sql = services.db.pool;
  const nowMs = services.clock.nowMs();
  const organisationId = who.organisation.id;
  const snapshot = await readSnapshot(services, who.organisation);
  const visible = visibleTree(snapshot.tree, who.principal, "key.read");
  const apps = [...snapshot.tree.byId.values()].filter((row) => row.kind === "app" && visible.has(row.id));
  const search: ApiKeySearch = {
    organisationId,
    appIds: apps.map((row) => row.id),
    text: query.q,
    state: query.state,
    nowMs,
    soonMs: nowMs + SOON_MS,
    afterId: query.after ?? null,
    limit: PAGE_SIZE + 1,
  };
  const [found, total] = await Promise.all([searchApiKeys(sql, search), countApiKeys(sql, search)]);
  const page = found.slice(0, PAGE_SIZE);
  const ids = page.map((row) => row.id);
  const [secrets, requests] = await Promise.all([
    listSecretHints(sql, organisationId, ids),
    countRequestsByKey(sql, organisationId, ids, nowMs - DAY_MS),
  ]);
  return {
    organisation: toOrganisationView(who.organisation),
    keys: page.map((row) =>
      toView(
        row,
        snapshot,
        who,
        secrets.filter((one) => one.apiKeyId === row.id),
        requests.get(row.id) ?? 0,
        nowMs,
      ),
    ),
    total,
    next: found.length > PAGE_SIZE ? (ids.at(-1) ?? null) : null,
    apps: apps
      .filter((row) => !row.archived && isPermitted(who, "key.write", pathOf(snapshot.tree, row.id)))
      .map((row) => ({ id: row.id, name: row.name, path: chainOf(snapshot.tree, row.id).map((node) => node.name) })),
    classes: [...TRAFFIC_CLASSES],
  };
}
