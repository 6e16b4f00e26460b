/** API keys. The full text exists in the answer of create and rotate and nowhere else; the database holds its HMAC. */
import { randomBytes } from "node:crypto";
import { hashApiKey } from "@/lib/config/key-hash";
import { createApiKeyInput, rotateApiKeyInput } from "@/lib/contracts/keys";
import type { CreateApiKeyInput, RotateApiKeyInput } from "@/lib/contracts/keys";
import { endOtherSecrets, findApiKey, insertApiKey, insertApiKeySecret, updateApiKey } from "@/lib/db/api-keys";
import { findConsumer } from "@/lib/db/consumers";
import { apiKeyHints, composeApiKey, secretFromBytes } from "@/lib/domain/api-key";
import type { ApiKey } from "@/lib/domain/entities";
import { AppError } from "@/lib/domain/fault";
import { newId } from "@/lib/domain/ids";
import { may } from "@/lib/domain/role";
import type { Action, Principal } from "@/lib/domain/role";
import type { Environment } from "@/lib/domain/snapshot";
import { findConsumerPath } from "@/lib/db/consumers";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { invalidFields, parseInput } from "./validate";

export interface ApiKeyRef {
  readonly organisationId: string;
  readonly apiKeyId: string;
}

export interface ApiKeyResult {
  readonly apiKey: ApiKey;
  readonly auditId: string;
}

/** `secret` is the full key, seen this once. */
export interface ApiKeySecretAnswer extends ApiKeyResult {
  readonly secret: string;
}

/** Makes a key of an app. Class `core` and VIP escape the ladder, so they take more than the right to make keys. */
export async function createApiKey(
  deps: ControlDeps,
  principal: Principal,
  input: CreateApiKeyInput & { readonly organisationId: string; readonly isVip?: boolean },
): Promise<ApiKeySecretAnswer> {
  const { organisationId, isVip = false, ...rest } = input;
  const { expiresAtMs, entitledConsumers, ...values } = parseInput(createApiKeyInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("key.write", values.appId);
    const app = found(await findConsumer(change.tx, organisationId, values.appId));
    if (app.kind !== "app" || app.archivedAt !== null) throw invalidFields({ appId: "not_an_app_in_use" });
    if (expiresAtMs !== null && expiresAtMs <= change.nowMs) throw invalidFields({ expiresAtMs: "in_the_past" });
    const entitledConsumerIds = [...new Set(entitledConsumers)];
    await requireReach(change, principal, { ...values, isVip, entitledConsumerIds });
    const secret = makeSecret(deps, organisationId, values.environment);
    const row = {
      ...values,
      id: newId("key", change.nowMs),
      organisationId,
      isVip,
      scopes: [...new Set(values.scopes)],
      entitledConsumerIds,
      policyId: null,
      createdById: principal.userId,
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs),
    };
    const apiKey = await insertApiKey(change.tx, row, { ...secret.row, validUntil: null });
    change.touch("key", apiKey.id);
    const auditId = await change.audit({ ...about("create", apiKey), after: forAudit(apiKey) });
    return { apiKey, auditId, secret: secret.text };
  });
}

/** Gives the key a new secret; the old one works for `graceSeconds` more. The key's id and limits stay. */
export async function rotateApiKey(
  deps: ControlDeps,
  principal: Principal,
  input: RotateApiKeyInput & ApiKeyRef,
): Promise<ApiKeySecretAnswer> {
  const { organisationId, apiKeyId, ...rest } = input;
  const { graceSeconds } = parseInput(rotateApiKeyInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const before = await requireKey(change, organisationId, apiKeyId, "key.write");
    if (before.revokedAt !== null) throw new AppError("conflict", "The key was revoked");
    // Who gets a secret could as well have made the key.
    await requireReach(change, principal, before);
    const secret = makeSecret(deps, organisationId, before.environment);
    await insertApiKeySecret(change.tx, before, { ...secret.row, validUntil: null });
    await endOtherSecrets(change.tx, apiKeyId, secret.row.hash, new Date(change.nowMs + graceSeconds * 1000));
    const apiKey = found(await findApiKey(change.tx, organisationId, apiKeyId));
    change.touch("key", apiKeyId);
    const record = { ...about("rotate", apiKey), before: forAudit(before), after: forAudit(apiKey) };
    return { apiKey, auditId: await change.audit(record), secret: secret.text };
  });
}

/** Ends the key for good. `confirmName`, where given, must be the key's name. Revoking twice changes nothing. */
export async function revokeApiKey(
  deps: ControlDeps,
  principal: Principal,
  input: ApiKeyRef & { readonly confirmName?: string },
): Promise<ApiKeyResult> {
  return changeKey(deps, principal, input, "key.write", "revoke", async (change, before) => {
    if (input.confirmName !== undefined && input.confirmName !== before.name) {
      throw invalidFields({ confirmName: "name_differs" });
    }
    return updateApiKey(change.tx, before.id, { revokedAt: before.revokedAt ?? change.now });
  });
}

/** Stops the key until it is unfrozen. */
export async function freezeApiKey(deps: ControlDeps, principal: Principal, input: ApiKeyRef): Promise<ApiKeyResult> {
  return changeKey(deps, principal, input, "key.freeze", "freeze", (change, before) =>
    updateApiKey(change.tx, before.id, { frozenAt: before.frozenAt ?? change.now }),
  );
}

export async function unfreezeApiKey(deps: ControlDeps, principal: Principal, input: ApiKeyRef): Promise<ApiKeyResult> {
  return changeKey(deps, principal, input, "key.freeze", "unfreeze", (change, before) =>
    updateApiKey(change.tx, before.id, { frozenAt: null }),
  );
}

async function changeKey(
  deps: ControlDeps,
  principal: Principal,
  { organisationId, apiKeyId }: ApiKeyRef,
  action: Action,
  verb: string,
  work: (change: Change, before: ApiKey) => Promise<ApiKey>,
): Promise<ApiKeyResult> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const before = await requireKey(change, organisationId, apiKeyId, action);
    const apiKey = await work(change, before);
    change.touch("key", apiKeyId);
    const record = { ...about(verb, apiKey), before: forAudit(before), after: forAudit(apiKey) };
    return { apiKey, auditId: await change.audit(record) };
  });
}

/** The key, if the principal may do this to it; `not_found` otherwise. */
export async function requireKey(
  change: Change,
  organisationId: string,
  apiKeyId: string,
  action: Action,
): Promise<ApiKey> {
  const key = found(await findApiKey(change.tx, organisationId, apiKeyId));
  await change.require(action, key.appId);
  return key;
}

type Reach = Pick<ApiKey, "appId" | "isVip" | "trafficClass" | "entitledClasses" | "entitledConsumerIds">;

/** What a key opens beyond its app takes a right of its own: to escape the ladder, to book on other nodes. */
async function requireReach(change: Change, principal: Principal, key: Reach): Promise<void> {
  const isPrivileged = key.isVip || key.trafficClass === "core" || key.entitledClasses.includes("core");
  if (isPrivileged) await requirePrivilege(change, principal, key.appId);
  for (const consumerId of key.entitledConsumerIds) await change.require("key.write", consumerId);
}

async function requirePrivilege(change: Change, principal: Principal, appId: string): Promise<void> {
  const path = await findConsumerPath(change.tx, change.organisation.id, appId);
  if (!may(principal, "policy.assign", { organisationId: change.organisation.id, path })) {
    throw invalidFields({ trafficClass: "needs_lead" });
  }
}

function makeSecret(deps: ControlDeps, organisationId: string, environment: Environment) {
  let secret: string | undefined;
  while (secret === undefined) secret = secretFromBytes(randomBytes(64));
  const text = composeApiKey(environment, organisationId, secret);
  return { text, row: { hash: hashApiKey(deps.pepper, text), ...apiKeyHints(text) } };
}

/** Without the hashes: who reads the audit log needs no material for guessing. */
function forAudit(key: ApiKey) {
  return { ...key, secrets: key.secrets.map(({ hash: _hash, ...shown }) => shown) };
}

function about(verb: string, key: ApiKey) {
  return { action: `key.${verb}`, objectType: "key", objectId: key.id };
}
