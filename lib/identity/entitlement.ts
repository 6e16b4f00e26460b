/**
 * Whose account a call goes to. `X-Consumer-ID` may narrow the attribution to a consumer that the principal is entitled to,
 * never move it to somebody else's: attribution comes from what was proved, a header is only a wish. Pure.
 */
import type { ConsumerDocument } from "@/lib/domain/snapshot";

export interface Entitlement {
  /** The consumer the key or token belongs to; what a call without a wish is booked on. */
  readonly ownId: string;
  /** Consumers granted one by one. */
  readonly consumerIds: readonly string[];
  /** Consumers granted with everything below them. */
  readonly subtreeIds: readonly string[];
}

export type Attribution = { readonly ok: true; readonly consumerId: string } | { readonly ok: false };

const MAX_DEPTH = 16;
const MAX_ID_LENGTH = 64;

function isWithin(consumers: ReadonlyMap<string, ConsumerDocument>, id: string, roots: readonly string[]): boolean {
  let next: string | null = id;
  for (let depth = 0; next !== null && depth < MAX_DEPTH; depth += 1) {
    if (roots.includes(next)) return true;
    next = consumers.get(next)?.parentId ?? null;
  }
  return false;
}

/**
 * The consumer to book on. Ids that are unknown and ids that are not granted are refused alike: the answer must not tell
 * which consumers exist. `claimed` is the header as it came, null where there was none.
 */
export function attribute(
  entitlement: Entitlement,
  claimed: string | null,
  consumers: ReadonlyMap<string, ConsumerDocument>,
): Attribution {
  if (claimed === null || claimed === entitlement.ownId) return { ok: true, consumerId: entitlement.ownId };
  if (claimed.length > MAX_ID_LENGTH || !consumers.has(claimed)) return { ok: false };
  const isGranted = entitlement.consumerIds.includes(claimed) || isWithin(consumers, claimed, entitlement.subtreeIds);
  return isGranted ? { ok: true, consumerId: claimed } : { ok: false };
}
