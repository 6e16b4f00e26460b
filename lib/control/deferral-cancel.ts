/** Cancels a deferred call from the console. Redis says who comes first, as for a cancel through a gateway; the worker ends it. */
import { findDeferredCallState, wakeDeferredCall } from "@/lib/db/deferred-calls";
import { AppError } from "@/lib/domain/fault";
import type { Principal } from "@/lib/domain/role";
import { moveDeferred } from "@/lib/redis/deferred-calls";
import { changeOrganisation, found } from "./change";
import type { ControlDeps } from "./deps";

/** Whoever may write the keys of an app may cancel what they deferred. `conflict` where it runs or has ended. */
export async function cancelDeferredCall(
  deps: ControlDeps,
  principal: Principal,
  { organisationId, deferredId }: { readonly organisationId: string; readonly deferredId: string },
): Promise<{ readonly auditId: string }> {
  return changeOrganisation(deps, principal, organisationId, async (change) => {
    const call = found(await findDeferredCallState(change.tx, organisationId, deferredId));
    await change.require("key.write", call.appId);
    const { state, ...facts } = call;
    if (state !== "pending") throw new AppError("conflict", "The call runs already, or has ended");
    const move = { facts, from: ["pending"] as const, to: "cancelled" as const };
    const moved = await moveDeferred(deps.redis, organisationId, change.nowMs, move).catch((cause: unknown) => {
      throw new AppError("quota_store_unavailable", "The counters cannot be reached", { cause });
    });
    if (!moved) throw new AppError("conflict", "The call runs already, or has ended");
    await wakeDeferredCall(change.tx, deferredId, change.now);
    const auditId = await change.audit({
      ...{ action: "deferred_call.cancel", objectType: "deferred_call", objectId: deferredId },
      ...{ before: { state }, after: { state: "cancelled" } },
    });
    return { auditId };
  });
}
