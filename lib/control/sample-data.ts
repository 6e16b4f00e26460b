/** Takes the sample company away, whole: from Postgres and from Redis. Real organisations cannot be removed. */
import { inTransaction } from "@/lib/db/client";
import { findOrganisation, lockOrganisation } from "@/lib/db/organisations";
import { deleteSampleOrganisation, listSampleOrganisationIds } from "@/lib/db/sample-data";
import { isMember, may, organisationScope } from "@/lib/domain/role";
import type { Principal } from "@/lib/domain/role";
import { keysOf } from "@/lib/redis/keys";
import { removeOrganisationKeys } from "@/lib/redis/snapshot-publisher";
import { notFound } from "./change";
import type { ControlDeps } from "./deps";

const REMOVAL_TIMEOUT_MS = 60_000;

/**
 * Removes every sample organisation that the principal may remove; returns their ids. `not_found` when there is none. The
 * person who removes it keeps the account, as do its owners where `keepsOwners` says so: somebody must be able to sign in
 * and found the real organisation.
 */
export async function removeSampleData(
  deps: ControlDeps,
  principal: Principal,
  options: { readonly keepsOwners?: boolean } = {},
): Promise<{ readonly organisationIds: readonly string[] }> {
  const ids = (await listSampleOrganisationIds(deps.db.prisma)).filter(
    (id) => isMember(principal, id) && may(principal, "sample.remove", organisationScope(id)),
  );
  if (ids.length === 0) throw notFound();
  for (const id of ids) await removeOne(deps, id, { userId: principal.userId, owners: options.keepsOwners === true });
  return { organisationIds: ids };
}

/**
 * The keys go before the commit: dies the process in between, the rows are still there and the outbox's drain finds that
 * Redis lost its push. The other way round, keys of nobody would stay and open doors. Once more after it, for what a call
 * in flight wrote meanwhile.
 */
async function removeOne(
  deps: ControlDeps,
  organisationId: string,
  keep: { readonly userId: string | null; readonly owners: boolean },
): Promise<void> {
  const removed = await inTransaction(
    deps.db,
    async (tx) => {
      if (!(await lockOrganisation(tx, organisationId))) return false;
      if ((await findOrganisation(tx, organisationId))?.isSample !== true) return false;
      await deleteSampleOrganisation(tx, organisationId, keep);
      await removeOrganisationKeys(deps.redis, organisationId);
      return true;
    },
    { timeoutMs: REMOVAL_TIMEOUT_MS },
  );
  if (!removed) return;
  await removeOrganisationKeys(deps.redis, organisationId);
  // Gateways look again and find no snapshot: calls are refused from now on.
  await deps.redis.publish(keysOf(organisationId).channel, "0");
}
