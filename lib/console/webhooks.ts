/** The organisation's webhook secret, and what was posted or is to be: what the console shows, and its writes. */
import "server-only";
import { openSecret, webhookTargetContext } from "@/lib/config/secret-box";
import type { WriteResult } from "@/lib/contracts/common";
import type {
  ReplaceWebhookSecretInput,
  RevokeWebhookSecretInput,
  WebhookList,
  WebhookListQuery,
  WebhookSecretResult,
  WebhookSecretView,
  WebhookView,
} from "@/lib/contracts/webhooks";
import { retryWebhook } from "@/lib/control/webhook-deliveries";
import { replaceSecretOfWebhooks, revokeSecretOfWebhooks } from "@/lib/control/webhook-secrets";
import { listWebhookDeliveries } from "@/lib/db/webhook-deliveries";
import type { WebhookDeliveryRow } from "@/lib/db/webhook-deliveries";
import { findWebhookSecret } from "@/lib/db/webhook-secrets";
import { getControl } from "@/lib/wiring/control";
import { controlFor } from "./control";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import { toOrganisationView } from "./snapshot";
import type { WithId } from "./writes";

const PAGE_SIZE = 50;

async function readWebhookSecret({ organisation }: ConsolePrincipal): Promise<WebhookSecretView> {
  const { db, clock } = services();
  const row = await findWebhookSecret(db.prisma, organisation.id);
  const untilMs = row?.previousUntil?.getTime() ?? 0;
  return {
    changedAtMs: row?.changedAt.getTime() ?? null,
    previousUntilMs: untilMs > clock.nowMs() ? untilMs : null,
  };
}

function hostOf(organisationId: string, { id, targetBox }: WebhookDeliveryRow): string | null {
  try {
    return new URL(openSecret(getControl().masterKey, targetBox, webhookTargetContext(organisationId, id))).host;
  } catch {
    return null;
  }
}

function textOf(value: string | number | null | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function toView(organisationId: string, row: WebhookDeliveryRow): WebhookView {
  const { id, attempts, retries, lastFailure, deliveredAt, failedAt, payload } = row;
  return {
    ...{ id, attempts, retries, lastFailure, type: payload.type },
    aboutId: textOf(payload.data["id"]),
    requestId: textOf(payload.data["request_id"]),
    host: hostOf(organisationId, row),
    state: deliveredAt !== null ? "delivered" : failedAt !== null ? "failed" : "waiting",
    createdAtMs: row.createdAt.getTime(),
    endedAtMs: (deliveredAt ?? failedAt)?.getTime() ?? null,
  };
}

export async function readWebhooks(who: ConsolePrincipal, { state, after }: WebhookListQuery): Promise<WebhookList> {
  const { db, clock } = services();
  const { organisation } = who;
  const cursor = /^(\d{1,15})\.(\w{1,60})$/u.exec(after);
  const before = cursor === null ? null : { at: new Date(Number(cursor[1])), id: cursor[2] ?? "" };
  const page = { state, before, limit: PAGE_SIZE + 1 };
  const [secret, found] = await Promise.all([
    readWebhookSecret(who),
    listWebhookDeliveries(db.pool, organisation.id, page),
  ]);
  const rows = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? rows.at(-1) : undefined;
  return {
    organisation: toOrganisationView(organisation),
    readAtMs: clock.nowMs(),
    secret,
    rows: rows.map((row) => toView(organisation.id, row)),
    next: last === undefined ? null : `${String(last.createdAt.getTime())}.${last.id}`,
  };
}

export async function writeWebhookSecret(
  call: WriteCall<unknown, ReplaceWebhookSecretInput>,
): Promise<WebhookSecretResult> {
  const input = { ...call.input, organisationId: call.who.organisation.id };
  return replaceSecretOfWebhooks(controlFor("webhook_secret.replace", call), call.who.principal, input);
}

export async function writeWebhookSecretRevocation(
  call: WriteCall<unknown, RevokeWebhookSecretInput>,
): Promise<WriteResult> {
  const { id: organisationId } = call.who.organisation;
  const deps = controlFor("webhook_secret.revoke", call);
  const { auditId } = await revokeSecretOfWebhooks(deps, call.who.principal, { ...call.input, organisationId });
  return { id: organisationId, auditId, undoable: false };
}

export async function writeWebhookRetry(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const ref = { organisationId: call.who.organisation.id, deliveryId: call.params.id };
  const { auditId } = await retryWebhook(controlFor("webhook_delivery.retry", call), call.who.principal, ref);
  return { id: call.params.id, auditId, undoable: false };
}
