/** Deferred calls of the apps that a person may see: how they stand. */
import type { DeferredList, DeferredListQuery, DeferredView } from "@/lib/contracts/deferred-calls";
import { listDeferredCalls } from "@/lib/db/console-deferred";
import type { DeferredLogRow } from "@/lib/db/console-deferred";
import { listKeyNames } from "@/lib/db/console-keys";
import { DEFERRED_STATES } from "@/lib/domain/deferred-call";
import type { ConsoleServices } from "@/lib/wiring/console";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { readTree, toOrganisationView } from "./snapshot";
import { pathOf, visibleAppIds, visibleTree } from "./tree";
import type { ConsumerTree } from "./tree";

const PAGE_SIZE = 50;

function toView(
  who: ConsolePrincipal,
  tree: ConsumerTree,
  keyNames: ReadonlyMap<string, string>,
  row: DeferredLogRow,
): DeferredView {
  const { id, tries, code, requestId, runRequestId, modelRequested } = row;
  const state = DEFERRED_STATES.find((one) => one === row.state) ?? "failed";
  return {
    ...{ id, state, tries, code, requestId, runRequestId, modelRequested },
    appName: tree.byId.get(row.appId)?.name ?? null,
    keyName: keyNames.get(row.apiKeyId) ?? null,
    createdAtMs: row.createdAt.getTime(),
    nextAtMs: state === "pending" ? row.nextAt.getTime() : null,
    deadlineMs: row.deadlineAt.getTime(),
    endedAtMs: row.endedAt?.getTime() ?? null,
    canCancel: state === "pending" && isPermitted(who, "key.write", pathOf(tree, row.appId)),
  };
}

export async function readDeferredCalls(
  services: ConsoleServices,
  who: ConsolePrincipal,
  { state, after }: DeferredListQuery,
): Promise<DeferredList> {
  const sql = services.db.pool;
  const { organisation } = who;
  const tree = await readTree(services, organisation.id);
  const appIds = visibleAppIds(tree, visibleTree(tree, who.principal, "request.read"));
  const cursor = /^(\d{1,15})\.(\w{1,60})$/u.exec(after);
  const before = cursor === null ? null : { at: new Date(Number(cursor[1])), id: cursor[2] ?? "" };
  const search = { organisationId: organisation.id, appIds, state, before, limit: PAGE_SIZE + 1 };
  const found = await listDeferredCalls(sql, search);
  const rows = found.slice(0, PAGE_SIZE);
  const keys = await listKeyNames(sql, organisation.id, [...new Set(rows.map((row) => row.apiKeyId))]);
  const keyNames = new Map(keys.map((key) => [key.id, key.name]));
  const last = found.length > PAGE_SIZE ? rows.at(-1) : undefined;
  return {
    organisation: toOrganisationView(organisation),
    readAtMs: services.clock.nowMs(),
    rows: rows.map((row) => toView(who, tree, keyNames, row)),
    next: last === undefined ? null : `${String(last.createdAt.getTime())}.${last.id}`,
  };
}
