/** Which consumers a rollout exposes: a stable bucket, so that raising the percentage only ever adds consumers. */

/** FNV-1a, 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/), over UTF-16 code units. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

/** 0 to 99. The policy id is part of the hash, so that not the same consumers go first in every rollout. */
export function rolloutBucket(policyId: string, consumerId: string): number {
  return fnv1a(`${policyId}:${consumerId}`) % 100;
}

export function inRollout(policyId: string, consumerId: string, percent: number): boolean {
  return rolloutBucket(policyId, consumerId) < percent;
}
