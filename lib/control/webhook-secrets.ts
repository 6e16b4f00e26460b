/** The secret that an organisation's webhooks are signed with: shown once, when it is made. */
import { sealSecret, webhookSecretContext } from "@/lib/config/secret-box";
import { newWebhookSecret } from "@/lib/config/webhook-signature";
import { findWebhookSecret, replaceWebhookSecret } from "@/lib/db/webhook-secrets";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation } from "./change";
import type { ControlDeps } from "./deps";

/** For so long both secrets sign, so that receivers may change over. */
const GRACE_MS = 24 * 3_600_000;

export interface WebhookSecretResult {
  /** `whsec_…`: nobody can read it again. */
  readonly secret: string;
  /** Until when the one before signs too; null where there was none. */
  readonly previousUntilMs: number | null;
  readonly auditId: string;
}

/** Makes a new secret, the first one or in place of the last. */
export async function replaceSecretOfWebhooks(
  deps: ControlDeps,
  principal: Principal,
  { organisationId }: { readonly organisationId: string },
): Promise<WebhookSecretResult> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("organisation.update");
    const before = await findWebhookSecret(change.tx, organisationId);
    const secret = newWebhookSecret();
    const box = sealSecret(deps.masterKey, secret, webhookSecretContext(organisationId));
    const previousUntil = new Date(change.nowMs + GRACE_MS);
    await replaceWebhookSecret(change.tx, organisationId, new Uint8Array(box), previousUntil, change.now);
    const auditId = await change.audit({
      action: before === null ? "webhook_secret.create" : "webhook_secret.replace",
      objectType: "webhook_secret",
      objectId: organisationId,
      before: { changedAt: before?.changedAt ?? null },
      after: { changedAt: change.now },
    });
    return { secret, previousUntilMs: before === null ? null : previousUntil.getTime(), auditId };
  });
}
