/**
 * The frame of every write: one transaction holding the row, its audit entry, the outbox rows and the raised epoch, then
 * the push to Redis. The organisation's row is locked first, so writers of one organisation take turns and their epochs
 * are committed in the order in which they were raised. Dies the process before the commit, nothing happened; after it,
 * the outbox brings the change to Redis.
 */
import { inTransaction } from "@/lib/db/client";
import type { Tx } from "@/lib/db/client";
import { insertAuditEntry } from "@/lib/db/audit-log";
import { findConsumerPath } from "@/lib/db/consumers";
import { findOrganisation, lockOrganisation, raiseEpoch } from "@/lib/db/organisations";
import { insertSnapshotChanges } from "@/lib/db/snapshot-changes";
import type { Organisation, SnapshotEntity } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { isMember, may } from "@/lib/domain/role";
import type { Action, Principal } from "@/lib/domain/role";
import type { ControlDeps } from "./deps";
import { findStoredAnswer, storeAnswer } from "./idempotency";
import { publishAfterCommit } from "./snapshots";

/** One write in progress, with the organisation locked. */
export interface Change {
  readonly tx: Tx;
  readonly organisation: Organisation;
  readonly now: Date;
  readonly nowMs: number;
  /** Throws `not_found` unless the principal may do this at the node (default: the whole organisation). */
  require(action: Action, consumerId?: string): Promise<void>;
  /** Writes the audit row; returns its id. */
  audit(entry: ChangeAudit): Promise<string>;
  /** Notes that gateways must see this entity anew. */
  touch(entity: SnapshotEntity, entityId: string): void;
}

export interface ChangeAudit {
  /** `<object>.<verb>`: "budget.update". */
  readonly action: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** What is missing and what is forbidden look the same. */
export function notFound(): AppError {
  return new AppError("not_found", "Not found");
}

export function found<T>(value: T | null): T {
  if (value === null) throw notFound();
  return value;
}

/** Runs one write of an organisation and publishes it. Throws what `work` throws; then nothing was changed. */
export async function changeOrganisation<T>(
  deps: ControlDeps,
  principal: Principal,
  organisationId: string,
  work: (change: Change) => Promise<T>,
): Promise<T> {
  // Strangers are turned away before they can hold a lock.
  if (!isMember(principal, organisationId)) throw notFound();
  const result = await inTransaction(deps.db, async (tx) => {
    if (!(await lockOrganisation(tx, organisationId))) throw notFound();
    const stored = await findStoredAnswer(deps, tx, principal, organisationId);
    if (stored !== undefined) return stored.answer as T;
    const organisation = found(await findOrganisation(tx, organisationId));
    const { change, touched } = openChange(deps, principal, tx, organisation);
    const answer = await work(change);
    if (touched.size > 0) {
      await insertSnapshotChanges(tx, organisationId, [...touched.values()]);
      await raiseEpoch(tx, organisationId);
    }
    await storeAnswer(deps, tx, principal, organisationId, answer);
    return answer;
  });
  await publishAfterCommit(deps, organisationId);
  return result;
}

type Touched = Map<string, { entity: SnapshotEntity; entityId: string }>;

function openChange(
  deps: ControlDeps,
  principal: Principal,
  tx: Tx,
  organisation: Organisation,
): { change: Change; touched: Touched } {
  const touched: Touched = new Map();
  const nowMs = deps.clock.nowMs();
  const now = new Date(nowMs);
  const change: Change = {
    tx,
    organisation,
    now,
    nowMs,
    async require(action, consumerId = organisation.id) {
      const path =
        consumerId === organisation.id ? [organisation.id] : await findConsumerPath(tx, organisation.id, consumerId);
      if (path.length === 0 || !may(principal, action, { organisationId: organisation.id, path })) throw notFound();
    },
    async audit(entry) {
      const id = newId("aud", nowMs);
      await insertAuditEntry(tx, {
        id,
        organisationId: organisation.id,
        actorId: principal.userId,
        actorLabel: principal.label,
        before: null,
        after: null,
        ...entry,
        requestId: deps.requestId ?? null,
        effectiveAt: now,
        createdAt: now,
      });
      return id;
    },
    touch(entity, entityId) {
      touched.set(`${entity}:${entityId}`, { entity, entityId });
    },
  };
  return { change, touched };
}
