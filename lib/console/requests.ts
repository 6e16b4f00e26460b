/** Reads the request log and the explanation of one request. Prompts and answers are not stored here and never shown. */
import type { RequestDetail, RequestList, RequestListQuery, RequestRow } from "@/lib/contracts/requests";
import { REQUEST_DECISIONS } from "@/lib/contracts/requests";
import { listModelNames } from "@/lib/db/console-consumers";
import { findDeferredFrom } from "@/lib/db/console-deferred";
import { listKeyNames } from "@/lib/db/console-keys";
import {
  findDeferredCall,
  findRefusalOfRequest,
  listEntriesOfRequest,
  searchRequests,
} from "@/lib/db/console-requests";
import type { LedgerRow, RefusalRow, RequestCursor, RequestLogRow } from "@/lib/db/console-requests";
import { listLiveBudgets } from "@/lib/db/console-budgets";
import { listDeployments } from "@/lib/db/models";
import { listProviders } from "@/lib/db/providers";
import { AppError } from "@/lib/domain/fault";
import { idTimeMs } from "@/lib/domain/ids";
import type { Action } from "@/lib/domain/role";
import { OUTCOMES } from "@/lib/domain/usage-event";
import type { ConsoleServices } from "@/lib/wiring/console";
import { deferredIdOf, sessionOf, toAttempt, toRefusal } from "./request-detail";
import type { Names } from "./request-detail";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";
import { readTree, toOrganisationView } from "./snapshot";
import { chainOf, visibleAppIds, visibleTree } from "./tree";
import type { ConsumerTree } from "./tree";

const PAGE_SIZE = 50;
const DAY_MS = 86_400_000;
/** A filter that matches nothing must end somewhere; older rows are found by their id. */
const LOG_DAYS = 90;
/** Clocks of gateways may differ a little from the time in the id, and a refusal may be written late. */
const ID_TOLERANCE_MS = 2 * DAY_MS;

function parseCursor(text: string): RequestCursor | null {
  const match = /^(\d{1,15})\.([A-Za-z0-9_-]{1,80})\.(-?\d{1,4})$/u.exec(text);
  if (match === null) return null;
  return { atMs: Number(match[1]), requestId: match[2] ?? "", attempt: Number(match[3]) };
}

function toRow(row: RequestLogRow, tree: ConsumerTree, keyNames: ReadonlyMap<string, string>): RequestRow {
  const { usage } = row;
  return {
    requestId: row.requestId,
    attempt: row.attempt,
    atMs: row.at.getTime(),
    appName: row.appId === null ? null : (tree.byId.get(row.appId)?.name ?? null),
    keyName: row.apiKeyId === null ? null : (keyNames.get(row.apiKeyId) ?? null),
    environment: row.environment,
    trafficClass: row.trafficClass,
    modelRequested: row.modelRequested,
    modelServed: row.modelServed,
    decision: REQUEST_DECISIONS.find((one) => one === row.decision) ?? "pass",
    outcome: row.outcome,
    inputTokens: usage?.inputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    amount: row.amount,
    savedAmount: row.savedAmount,
    latencyMs: row.latencyMs,
    statusCode: row.statusCode,
    isEstimated: row.isEstimated,
  };
}

/** The apps to search: those that may be seen, narrowed by the filter. */
function searchedApps(visible: readonly string[] | null, wanted: string): readonly string[] | null {
  if (wanted === "") return visible;
  return visible === null || visible.includes(wanted) ? [wanted] : [];
}

/** Of the apps where the person may do `action`. */
export async function readRequests(
  services: ConsoleServices,
  who: ConsolePrincipal,
  query: RequestListQuery,
  { limit, action }: { readonly limit: number; readonly action: Action } = { limit: PAGE_SIZE, action: "request.read" },
): Promise<RequestList> {
  const sql = services.db.pool;
  const { organisation } = who;
  const tree = await readTree(services, organisation.id);
  const visible = visibleTree(tree, who.principal, action);
  const idMs = idTimeMs(query.q);
  const found = await searchRequests(sql, {
    organisationId: organisation.id,
    appIds: searchedApps(visibleAppIds(tree, visible), query.app),
    requestId: query.q,
    model: query.model,
    decision: query.decision,
    outcome: query.outcome,
    session: query.session,
    sinceMs: idMs === undefined ? services.clock.nowMs() - LOG_DAYS * DAY_MS : idMs - ID_TOLERANCE_MS,
    before: parseCursor(query.after),
    limit: limit + 1,
  });
  const page = found.slice(0, limit);
  const [keys, models] = await Promise.all([
    listKeyNames(sql, organisation.id, [...new Set(page.flatMap((row) => row.apiKeyId ?? []))]),
    listModelNames(sql, organisation.id),
  ]);
  const keyNames = new Map(keys.map((key) => [key.id, key.name]));
  const last = found.length > limit ? page.at(-1) : undefined;
  return {
    organisation: toOrganisationView(organisation),
    rows: page.map((row) => toRow(row, tree, keyNames)),
    next: last === undefined ? null : `${String(last.at.getTime())}.${last.requestId}.${String(last.attempt)}`,
    apps: [...tree.byId.values()]
      .filter((row) => row.kind === "app" && visible.has(row.id))
      .map(({ id, name }) => ({ id, name })),
    models,
    outcomes: [...OUTCOMES],
    canExport: isPermitted(who, "export.create"),
  };
}

async function namesOfTargets({ db }: ConsoleServices, organisationId: string): Promise<Names["targets"]> {
  const [providers, deployments] = await Promise.all([
    listProviders(db.prisma, organisationId),
    listDeployments(db.prisma, organisationId),
  ]);
  const names = new Map(providers.map(({ id, name }) => [id, name]));
  for (const { id, providerId, upstreamModel } of deployments) {
    names.set(id, `${names.get(providerId) ?? providerId} · ${upstreamModel}`);
  }
  return names;
}

function namesOfBudgets(tree: ConsumerTree, budgets: Awaited<ReturnType<typeof listLiveBudgets>>): Names["budgets"] {
  return new Map(
    budgets.map((budget) => [
      budget.id,
      { name: budget.name, consumerName: tree.byId.get(budget.consumerId ?? "")?.name ?? null, meter: budget.meter },
    ]),
  );
}

/** What calls and refusals have in common. */
function subjectOf(usage: LedgerRow | undefined, refusal: RefusalRow | undefined): RefusalRow | LedgerRow | undefined {
  return usage ?? refusal;
}

/** Throws `not_found` for an unknown request and for one of an app that the person may not see. */
export async function readRequest(
  services: ConsoleServices,
  who: ConsolePrincipal,
  requestId: string,
): Promise<RequestDetail> {
  const sql = services.db.pool;
  const { organisation } = who;
  const missing = new AppError("not_found", "There is no such request");
  const atMs = idTimeMs(requestId);
  if (atMs === undefined) throw missing;
  const address = {
    organisationId: organisation.id,
    requestId,
    fromMs: atMs - ID_TOLERANCE_MS,
    toMs: atMs + ID_TOLERANCE_MS,
  };
  const [tree, entries, refusal, budgets, targets] = await Promise.all([
    readTree(services, organisation.id),
    listEntriesOfRequest(sql, address),
    findRefusalOfRequest(sql, address),
    listLiveBudgets(sql, organisation.id),
    namesOfTargets(services, organisation.id),
  ]);
  const subject = subjectOf(entries[0], refusal);
  if (subject === undefined) throw missing;
  const visible = visibleTree(tree, who.principal, "request.read");
  if (!visible.seesAll && (subject.appId === null || !visible.has(subject.appId))) throw missing;
  const keys = subject.apiKeyId === null ? [] : await listKeyNames(sql, organisation.id, [subject.apiKeyId]);
  const names = { budgets: namesOfBudgets(tree, budgets), targets };
  const deferredId = refusal === undefined ? null : deferredIdOf(refusal);
  const deferredFrom = entries.length === 0 ? undefined : await findDeferredFrom(sql, organisation.id, requestId);
  const deferral = deferredId === null ? undefined : await findDeferredCall(sql, organisation.id, deferredId);
  return {
    organisation: toOrganisationView(organisation),
    requestId,
    atMs: entries[0]?.reservedAt.getTime() ?? refusal?.refusedAt.getTime() ?? atMs,
    route: subject.route,
    path: subject.appId === null ? [] : chainOf(tree, subject.appId).map((row) => row.name),
    appName: subject.appId === null ? null : (tree.byId.get(subject.appId)?.name ?? null),
    keyName: keys[0]?.name ?? null,
    endUser: entries[0]?.endUser ?? null,
    session: sessionOf(subject.explanation),
    deferredFrom: deferredFrom ?? null,
    environment: subject.environment,
    trafficClass: subject.trafficClass,
    modelRequested: subject.modelRequested,
    attempts: entries.map((row) => toAttempt(row, names)),
    refusal: refusal === undefined ? null : toRefusal(refusal, names, deferral),
    totalAmount: entries.reduce((sum, row) => sum + BigInt(row.amount), 0n).toString(),
  };
}
