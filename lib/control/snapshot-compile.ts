/** Reads the present state of what changed (or of everything) and compiles it for Redis. Runs in one consistent view. */
import type { Tx } from "@/lib/db/client";
import { listApiKeys, listApiKeysById } from "@/lib/db/api-keys";
import { listBudgets, listBudgetsById, listOpenGrants } from "@/lib/db/budgets";
import { listConsumers, listConsumersById } from "@/lib/db/consumers";
import { listActiveDeployments, listModels, listModelsById } from "@/lib/db/models";
import { listOpenRollouts, listPolicies, listPoliciesById, listPolicyVersionsById } from "@/lib/db/policies";
import { listFxRates, listPricesOfModels } from "@/lib/db/prices";
import { listProviderBoxes, listProviders } from "@/lib/db/providers";
import { listRateLimits, listRateLimitsById } from "@/lib/db/rate-limits";
import { listIssuerBoxes, listTokenIssuers } from "@/lib/db/token-issuers";
import type { SnapshotChange } from "@/lib/db/snapshot-changes";
import { calendarOf } from "@/lib/domain/entities";
import type { Budget, Organisation, SnapshotEntity } from "@/lib/domain/entities";
import { PERIOD_KINDS, periodAt } from "@/lib/domain/period";
import { SNAPSHOT_FIELDS } from "@/lib/domain/snapshot";
import type { CounterOpening, LimitRecord, SnapshotPush } from "@/lib/redis/snapshot-publisher";
import {
  apiKeyDocumentOf,
  budgetDocumentOf,
  consumerDocumentOf,
  fxDocumentOf,
  issuerDocumentOf,
  limitRecordOf,
  modelDocumentOf,
  organisationDocumentOf,
  policySnapshotDocumentOf,
  providerDocumentOf,
  rateLimitDocumentOf,
} from "./snapshot-documents";

type Compiled = Pick<SnapshotPush, "documents" | "apiKeys" | "limits" | "openings">;

interface Build {
  readonly documents: Map<string, string | null>;
  readonly apiKeys: Map<string, string | null>;
  readonly limits: Map<string, LimitRecord | null>;
  readonly openings: CounterOpening[];
}

/** The script itself ignores a grant that has ended, by the counters' clock: this process's may be ahead of that. */
const CLOCK_SLACK_MS = 600_000;

/** Which rows: everything, or the ids named by the outbox. */
type Wanted = "whole" | ReadonlyMap<SnapshotEntity, readonly string[]>;

/** The selection that the outbox rows name. */
export function wantedBy(changes: readonly SnapshotChange[]): Wanted {
  const wanted = new Map<SnapshotEntity, string[]>();
  for (const change of changes) {
    const ids = wanted.get(change.entity) ?? [];
    if (!ids.includes(change.entityId)) ids.push(change.entityId);
    wanted.set(change.entity, ids);
  }
  return wanted;
}

/** Compiles the wanted entities as they stand in `tx`'s view. `nowMs` decides what has expired. */
export async function compileSnapshot(
  tx: Tx,
  organisation: Organisation,
  wanted: Wanted,
  nowMs: number,
): Promise<Compiled> {
  const build: Build = { documents: new Map(), apiKeys: new Map(), limits: new Map(), openings: [] };
  const idsOf = (entity: SnapshotEntity): readonly string[] | "all" =>
    wanted === "whole" ? "all" : (wanted.get(entity) ?? []);
  if (idsOf("organisation").length > 0) {
    build.documents.set(SNAPSHOT_FIELDS.organisation, JSON.stringify(organisationDocumentOf(organisation)));
  }
  await addConsumers(tx, organisation, idsOf("consumer"), build);
  await addKeys(tx, organisation, idsOf("key"), build, nowMs);
  await addBudgets(tx, organisation, idsOf("budget"), build, nowMs);
  await addRateLimits(tx, organisation, idsOf("rate_limit"), build);
  await addPolicies(tx, organisation, idsOf("policy"), build);
  await addModels(tx, organisation, idsOf("model"), build, nowMs);
  await addProviders(tx, organisation, idsOf("provider"), build);
  await addIssuers(tx, organisation, idsOf("issuer"), build);
  if (idsOf("fx").length > 0) {
    const rates = await listFxRates(tx, organisation.id);
    build.documents.set(SNAPSHOT_FIELDS.fx, JSON.stringify(fxDocumentOf(rates, nowMs)));
  }
  return build;
}

type Ids = readonly string[] | "all";

function put(build: Build, field: string, document: object | null): void {
  build.documents.set(field, document === null ? null : JSON.stringify(document));
}

/** Ids asked for that have no row any more are removed from Redis. */
function removeMissing(build: Build, ids: Ids, rows: readonly { id: string }[], field: (id: string) => string): void {
  if (ids === "all") return;
  const present = new Set(rows.map((row) => row.id));
  for (const id of ids) if (!present.has(id)) build.documents.set(field(id), null);
}

async function addConsumers(tx: Tx, organisation: Organisation, ids: Ids, build: Build): Promise<void> {
  if (ids.length === 0) return;
  const rows =
    ids === "all" ? await listConsumers(tx, organisation.id) : await listConsumersById(tx, organisation.id, ids);
  for (const row of rows) put(build, SNAPSHOT_FIELDS.consumer(row.id), consumerDocumentOf(row));
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.consumer);
}

async function addKeys(tx: Tx, organisation: Organisation, ids: Ids, build: Build, nowMs: number): Promise<void> {
  if (ids.length === 0) return;
  const keys = ids === "all" ? await listApiKeys(tx, organisation.id) : await listApiKeysById(tx, organisation.id, ids);
  const apps = await listConsumersById(tx, organisation.id, [...new Set(keys.map((key) => key.appId))]);
  const appById = new Map(apps.map((app) => [app.id, app]));
  for (const key of keys) {
    for (const secret of key.secrets) {
      const document = apiKeyDocumentOf(key, secret, appById.get(key.appId), nowMs);
      build.apiKeys.set(secret.hash, document === null ? null : JSON.stringify(document));
    }
  }
}

async function addBudgets(tx: Tx, organisation: Organisation, ids: Ids, build: Build, nowMs: number): Promise<void> {
  if (ids.length === 0) return;
  const rows = ids === "all" ? await listBudgets(tx, organisation.id) : await listBudgetsById(tx, organisation.id, ids);
  const live = rows.filter((row) => row.archivedAt === null).map((row) => row.id);
  const grants = await listOpenGrants(tx, live, new Date(nowMs - CLOCK_SLACK_MS));
  const periodIds = PERIOD_KINDS.map((kind) => periodAt(kind, nowMs, calendarOf(organisation)).id);
  for (const row of rows) {
    put(build, SNAPSHOT_FIELDS.budget(row.id), budgetDocumentOf(row));
    build.limits.set(row.id, limitRecordOf(row, grants));
    build.openings.push(...openingsOf(row, periodIds));
  }
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.budget);
}

/**
 * The recorded opening of the period that runs now, and none of all others that do: the budget may have counted by another kind of
 * period before. One of a past period has done its work.
 */
function openingsOf({ id, archivedAt, openingPeriodId, openingAmount }: Budget, running: string[]): CounterOpening[] {
  if (archivedAt !== null || openingPeriodId === null || !running.includes(openingPeriodId)) return [];
  return running.map((periodId) => ({
    budgetId: id,
    periodId,
    amount: periodId === openingPeriodId ? openingAmount.toString() : "0",
  }));
}

async function addRateLimits(tx: Tx, organisation: Organisation, ids: Ids, build: Build): Promise<void> {
  if (ids.length === 0) return;
  const rows =
    ids === "all" ? await listRateLimits(tx, organisation.id) : await listRateLimitsById(tx, organisation.id, ids);
  for (const row of rows) put(build, SNAPSHOT_FIELDS.rateLimit(row.id), rateLimitDocumentOf(row));
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.rateLimit);
}

async function addPolicies(tx: Tx, organisation: Organisation, ids: Ids, build: Build): Promise<void> {
  if (ids.length === 0) return;
  const rows =
    ids === "all" ? await listPolicies(tx, organisation.id) : await listPoliciesById(tx, organisation.id, ids);
  const rollouts = await listOpenRollouts(
    tx,
    rows.map((row) => row.id),
  );
  const versionIds = [
    ...rows.flatMap((row) => (row.activeVersionId === null ? [] : [row.activeVersionId])),
    ...rollouts.map((row) => row.policyVersionId),
  ];
  const versions = new Map((await listPolicyVersionsById(tx, versionIds)).map((row) => [row.id, row]));
  for (const row of rows) {
    const rollout = rollouts.find((one) => one.policyId === row.id);
    put(build, SNAPSHOT_FIELDS.policy(row.id), policySnapshotDocumentOf(row, versions, rollout));
  }
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.policy);
}

async function addModels(tx: Tx, organisation: Organisation, ids: Ids, build: Build, nowMs: number): Promise<void> {
  if (ids.length === 0) return;
  const rows = ids === "all" ? await listModels(tx, organisation.id) : await listModelsById(tx, organisation.id, ids);
  const modelIds = rows.map((row) => row.id);
  const deployments = await listActiveDeployments(tx, organisation.id, modelIds);
  const prices = await listPricesOfModels(tx, organisation.id, modelIds);
  for (const row of rows) put(build, SNAPSHOT_FIELDS.model(row.id), modelDocumentOf(row, deployments, prices, nowMs));
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.model);
}

async function addProviders(tx: Tx, organisation: Organisation, ids: Ids, build: Build): Promise<void> {
  if (ids.length === 0) return;
  // A company has a handful of provider accounts: reading all is one query less to keep.
  const rows = (await listProviders(tx, organisation.id)).filter((row) => ids === "all" || ids.includes(row.id));
  const boxes = await listProviderBoxes(tx, organisation.id);
  for (const row of rows) put(build, SNAPSHOT_FIELDS.provider(row.id), providerDocumentOf(row, boxes.get(row.id)));
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.provider);
}

async function addIssuers(tx: Tx, organisation: Organisation, ids: Ids, build: Build): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await listTokenIssuers(tx, organisation.id)).filter((row) => ids === "all" || ids.includes(row.id));
  const boxes = await listIssuerBoxes(tx, organisation.id);
  for (const row of rows) put(build, SNAPSHOT_FIELDS.issuer(row.id), issuerDocumentOf(row, boxes.get(row.id)));
  removeMissing(build, ids, rows, SNAPSHOT_FIELDS.issuer);
}
