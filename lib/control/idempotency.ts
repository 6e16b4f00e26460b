/**
 * Idempotency-Key of writes. The answer is kept in the transaction of the write, after the organisation's lock: a second
 * request with the same key waits for the first and then reads its answer, and a process that dies leaves either both
 * the change and its answer or neither. Answers may hold a secret that is shown once, so they are kept sealed.
 */
import { createHash } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import { openSecret, sealSecret } from "@/lib/config/secret-box";
import type { Tx } from "@/lib/db/client";
import { findIdempotencyRecord, insertIdempotencyRecord } from "@/lib/db/idempotency-records";
import type { IdempotencyKey } from "@/lib/db/idempotency-records";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import type { ControlDeps } from "./deps";

export interface IdempotencyClaim {
  readonly key: string;
  readonly bodyHash: string;
}

const KEY = /^[\x21-\x7e]{1,128}$/u;

/**
 * Dependencies for exactly one write under this key. The same key and body replays the stored answer, another body is a
 * `conflict`. `body` is the request's text or parsed JSON together with what the address named. A null key changes nothing.
 */
export function withIdempotencyKey(deps: ControlDeps, key: string | null, body: unknown): ControlDeps {
  if (key === null) return deps;
  if (!KEY.test(key)) throw new AppError("invalid_request", "Idempotency-Key must be 1 to 128 printable characters");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { ...deps, idempotency: { key, bodyHash: createHash("sha256").update(text).digest("hex") } };
}

/** The stored answer of this claim, or undefined when the write has not been done. */
export async function findStoredAnswer(
  deps: ControlDeps,
  tx: Tx,
  principal: Principal,
  organisationId: string,
): Promise<{ readonly answer: unknown } | undefined> {
  if (deps.idempotency === undefined) return undefined;
  const key = recordKey(deps.idempotency, principal, organisationId);
  const record = await findIdempotencyRecord(tx, key);
  if (record === null) return undefined;
  if (record.bodyHash !== deps.idempotency.bodyHash) {
    throw new AppError("conflict", "This Idempotency-Key was used for another request");
  }
  const bytes = Buffer.from(openSecret(deps.masterKey, Buffer.from(record.box, "base64"), context(key)), "base64");
  return { answer: deserialize(bytes) };
}

/** Keeps the answer of this claim; part of the write's transaction. */
export async function storeAnswer(
  deps: ControlDeps,
  tx: Tx,
  principal: Principal,
  organisationId: string,
  answer: unknown,
): Promise<void> {
  if (deps.idempotency === undefined) return;
  const key = recordKey(deps.idempotency, principal, organisationId);
  const box = sealSecret(deps.masterKey, serialize(answer).toString("base64"), context(key)).toString("base64");
  await insertIdempotencyRecord(tx, key, { bodyHash: deps.idempotency.bodyHash, box }, new Date(deps.clock.nowMs()));
}

function recordKey(claim: IdempotencyClaim, principal: Principal, organisationId: string): IdempotencyKey {
  return { organisationId, actorId: principal.userId ?? "system", key: claim.key };
}

function context(key: IdempotencyKey): string {
  return `idempotency:${key.organisationId}:${key.actorId}:${key.key}`;
}
