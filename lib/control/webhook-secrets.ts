/** The secret that an organisation's webhooks are signed with: shown once, when it is made. */
import { sealSecret, webhookSecretContext } from "@/lib/config/secret-box";
import { newWebhookSecret } from "@/lib/config/webhook-signature";
import { replaceWebhookSecretInput, revokeWebhookSecretInput } from "@/lib/contracts/webhooks";
import type { ReplaceWebhookSecretInput, RevokeWebhookSecretInput } from "@/lib/contracts/webhooks";
import {
  deleteWebhookSecret,
  endPreviousWebhookSecret,
  findWebhookSecret,
  replaceWebhookSecret,
} from "@/lib/db/webhook-secrets";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation } from "./change";
import type { ControlDeps } from "./deps";
import { parseInput } from "./validate";

export interface WebhookSecretResult {
  /** `whsec_…`: nobody can read it again. */
  readonly secret: string;
  /** Until when the one before signs too; null where there was none. */
  readonly previousUntilMs: number | null;
  readonly auditId: string;
}

/** Makes a new secret, the first one or in place of the last, which signs beside it for the grace, so that receivers may change over. */
export async function replaceSecretOfWebhooks(
  deps: ControlDeps,
  principal: Principal,
  input: ReplaceWebhookSecretInput & { readonly organisationId: string },
): Promise<WebhookSecretResult> {
  const { organisationId, ...rest } = input;
  const { graceSeconds } = parseInput(replaceWebhookSecretInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = await findWebhookSecret(change.tx, organisationId);
    const secret = newWebhookSecret();
    const box = sealSecret(deps.masterKey, secret, webhookSecretContext(organisationId));
    const previousUntil = new Date(change.nowMs + graceSeconds * 1000);
    await replaceWebhookSecret(change.tx, organisationId, new Uint8Array(box), previousUntil, change.now);
    const auditId = await change.audit({
      action: before === null ? "webhook_secret.create" : "webhook_secret.replace",
      objectType: "webhook_secret",
      objectId: organisationId,
      before: { changedAt: before?.changedAt ?? null },
      after: { changedAt: change.now },
    });
    const hasGrace = before !== null && graceSeconds > 0;
    return { secret, previousUntilMs: hasGrace ? previousUntil.getTime() : null, auditId };
  });
}

/**
 * Takes a secret back at once: the one before the last, or all of them. Without any nothing is posted: what is due by then is given up,
 * and can be posted anew. `conflict` where there is none to take.
 */
export async function revokeSecretOfWebhooks(
  deps: ControlDeps,
  principal: Principal,
  input: RevokeWebhookSecretInput & { readonly organisationId: string },
): Promise<{ readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { which } = parseInput(revokeWebhookSecretInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = await findWebhookSecret(change.tx, organisationId);
    const hasPrevious = (before?.previousUntil?.getTime() ?? 0) > change.nowMs;
    if (before === null || (which === "previous" && !hasPrevious)) {
      throw new AppError("conflict", "There is no such secret any more");
    }
    await (which === "all" ? deleteWebhookSecret : endPreviousWebhookSecret)(change.tx, organisationId);
    const auditId = await change.audit({
      action: which === "all" ? "webhook_secret.revoke" : "webhook_secret.end_previous",
      objectType: "webhook_secret",
      objectId: organisationId,
      before: { changedAt: before.changedAt, previousUntil: before.previousUntil },
      after: which === "all" ? null : { changedAt: before.changedAt, previousUntil: null },
    });
    return { auditId };
  });
}
