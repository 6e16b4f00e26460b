/** Short-window limits, at most one row a node. */
import type { RateLimit } from "@/lib/domain/entities";
import type { Tx } from "./client";
import type { Prisma } from "./generated/client";

const select = {
  id: true,
  organisationId: true,
  consumerId: true,
  apiKeyId: true,
  requestsPerSecond: true,
  requestsPerMinute: true,
  burstRequests: true,
  tokensPerMinute: true,
  concurrency: true,
} satisfies Prisma.RateLimitSelect;

export async function listRateLimits(tx: Tx, organisationId: string): Promise<RateLimit[]> {
  return tx.rateLimit.findMany({ where: { organisationId }, select, orderBy: { id: "asc" } });
}

export async function listRateLimitsById(tx: Tx, organisationId: string, ids: readonly string[]): Promise<RateLimit[]> {
  return tx.rateLimit.findMany({ where: { organisationId, id: { in: [...ids] } }, select });
}

/** The limit at this node or key; null when there is none. */
export async function findRateLimitAt(
  tx: Tx,
  organisationId: string,
  target: Pick<RateLimit, "consumerId" | "apiKeyId">,
): Promise<RateLimit | null> {
  return tx.rateLimit.findFirst({ where: { organisationId, ...target }, select });
}

export async function insertRateLimit(tx: Tx, row: RateLimit): Promise<RateLimit> {
  return tx.rateLimit.create({ data: row, select });
}

export async function updateRateLimit(
  tx: Tx,
  id: string,
  changes: Partial<Omit<RateLimit, "id" | "organisationId" | "consumerId" | "apiKeyId">>,
): Promise<RateLimit> {
  return tx.rateLimit.update({ where: { id }, data: changes, select });
}

export async function deleteRateLimit(tx: Tx, id: string): Promise<void> {
  await tx.rateLimit.delete({ where: { id } });
}
