/** Short-window limits at a node or a key: one row each, set as a whole. */
import { setRateLimitInput } from "@/lib/contracts/policies";
import type { SetRateLimitInput } from "@/lib/contracts/policies";
import { findConsumer } from "@/lib/db/consumers";
import { deleteRateLimit, findRateLimitAt, insertRateLimit, updateRateLimit } from "@/lib/db/rate-limits";
import type { RateLimit } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import type { Principal } from "@/lib/domain/role";
import { requireKey } from "./api-keys";
import { changeOrganisation, found } from "./change";
import type { Change } from "./change";
import type { ControlDeps } from "./deps";
import { parseInput } from "./validate";

/** Sets the limit of a node or key; with all five values null takes it away (then the answer's limit is null). */
export async function setRateLimit(
  deps: ControlDeps,
  principal: Principal,
  input: SetRateLimitInput & { readonly organisationId: string },
): Promise<{ readonly rateLimit: RateLimit | null; readonly auditId: string }> {
  const { organisationId, ...rest } = input;
  const { consumerId, apiKeyId, ...values } = parseInput(setRateLimitInput, rest);
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    if (consumerId !== null) {
      await change.require("rate_limit.write", consumerId);
      found(await findConsumer(change.tx, organisationId, consumerId));
    } else {
      await requireKey(change, organisationId, apiKeyId ?? "", "rate_limit.write");
    }
    const before = await findRateLimitAt(change.tx, organisationId, { consumerId, apiKeyId });
    const isEmpty = Object.values(values).every((value) => value === null);
    const rateLimit = isEmpty
      ? await remove(change, before)
      : before === null
        ? await insertRateLimit(change.tx, {
            ...values,
            id: newId("rlm", change.nowMs),
            organisationId,
            consumerId,
            apiKeyId,
          })
        : await updateRateLimit(change.tx, before.id, values);
    const id = rateLimit?.id ?? before?.id;
    if (id !== undefined) change.touch("rate_limit", id);
    const auditId = await change.audit({
      action: "rate_limit.set",
      objectType: consumerId === null ? "key" : "consumer",
      objectId: consumerId ?? apiKeyId ?? "",
      before,
      after: rateLimit,
    });
    return { rateLimit, auditId };
  });
}

async function remove(change: Change, before: RateLimit | null): Promise<null> {
  if (before !== null) await deleteRateLimit(change.tx, before.id);
  return null;
}
