/** Vendor accounts and their secrets, which are sealed here and never read back. */
import { providerSecretContext, sealSecret } from "@/lib/config/secret-box";
import { upsertProviderInput } from "@/lib/contracts/models";
import type { UpsertProviderInput } from "@/lib/contracts/models";
import { findProviderByName, insertProvider, updateProvider } from "@/lib/db/providers";
import type { ProviderSecret } from "@/lib/db/providers";
import type { Provider } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { changeOrganisation } from "./change";
import type { ControlDeps } from "./deps";
import { isSameOrigin, requireOutbound } from "./outbound";
import { invalidFields, parseInput } from "./validate";

/**
 * Adds the account or changes the one of this name. The kind of an account never changes: its models speak it. A new
 * address must be one that this installation may call, and on another host it takes the secret anew: who may change
 * addresses must not be able to have a secret sent to them.
 */
export async function upsertProvider(
  deps: ControlDeps,
  principal: Principal,
  input: UpsertProviderInput & { readonly organisationId: string },
): Promise<{ readonly provider: Provider; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { secret, disabled, ...values } = parseInput(upsertProviderInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    await change.require("model.write");
    const before = await findProviderByName(change.tx, organisationId, values.name);
    if (before !== null && before.kind !== values.kind) throw invalidFields({ kind: "fixed" });
    if (before?.baseUrl !== values.baseUrl) requireOutbound(deps.outbound, "baseUrl", values.baseUrl);
    if (before !== null && secret === undefined && wouldMoveSecret(before, values.baseUrl)) {
      throw invalidFields({ secret: "needed_for_new_host" });
    }
    const id = before?.id ?? newId("prv", change.nowMs);
    const sealed = secret === undefined ? null : seal(deps, organisationId, id, secret, change.now);
    const inserted =
      before === null ? await insertProvider(change.tx, { ...values, id, organisationId }, sealed) : before;
    const disabledAt = disabled ? (before?.disabledAt ?? change.now) : null;
    const { kind: _kind, ...changes } = values;
    const provider =
      before === null && !disabled
        ? inserted
        : await updateProvider(change.tx, id, { ...changes, disabledAt }, before === null ? null : sealed);
    change.touch("provider", id);
    // The row holds no secret, only when it was changed and how it ends.
    const auditId = await change.audit({
      action: before === null ? "provider.create" : "provider.update",
      objectType: "provider",
      objectId: id,
      before,
      after: provider,
    });
    return { provider, auditId };
  });
}

/** The stand-in's secret is none, and its port changes with every start. */
function wouldMoveSecret(before: Provider, baseUrl: string): boolean {
  return before.secretChangedAt !== null && before.kind !== "sandbox" && !isSameOrigin(before.baseUrl, baseUrl);
}

function seal(
  deps: ControlDeps,
  organisationId: string,
  providerId: string,
  secret: string,
  now: Date,
): ProviderSecret {
  const box = sealSecret(deps.masterKey, secret, providerSecretContext(organisationId, providerId));
  // A short secret would be given away by four of its characters.
  const secretHint = secret.length >= 16 ? secret.slice(-4) : "";
  return { secretCiphertext: new Uint8Array(box), secretHint, secretChangedAt: now };
}
