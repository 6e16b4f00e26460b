// Usage events and organisations for tests of the bookkeeping: unique ids, exact amounts.
import { getDb } from "@/lib/db/client";
import type { Db } from "@/lib/db/client";
import type { BookkeepingDeps } from "@/lib/control/bookkeeping";
import { systemClock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import type { UsageEvent } from "@/lib/domain/usage-event";
import { connectHot } from "@/lib/redis/client";
import type { HotConnection } from "@/lib/redis/client";
import { createLogger } from "@/lib/telemetry/logger";

export function uniqueOrganisationId(): string {
  return newId("con", Date.now()).slice(4, 30);
}

/** A connected store: its run id is known. */
export async function connectedStore(url: string): Promise<HotConnection> {
  const store = connectHot(url, { commandTimeoutMs: 10_000, name: "test" });
  await new Promise<void>((resolve) => store.onRunId(() => resolve()));
  return store;
}

export async function bookkeepingDeps(databaseUrl: string, redisUrl: string): Promise<BookkeepingDeps> {
  return {
    db: getDb(databaseUrl),
    store: await connectedStore(redisUrl),
    clock: systemClock,
    log: createLogger({ name: "test", level: "silent" }),
  };
}

/** A bare organisation row with one budget per meter asked for; returns the ids. */
export async function insertOrganisationRow(
  db: Db,
  options: { readonly limit?: bigint; readonly openingAmount?: bigint; readonly openingPeriodId?: string } = {},
): Promise<{ organisationId: string; budgetId: string }> {
  const organisationId = uniqueOrganisationId();
  const budgetId = newId("bud", Date.now());
  await db.prisma.organisation.create({
    data: { id: organisationId, name: organisationId, currency: "USD", timeZone: "UTC", snapshotEpoch: 1n },
  });
  await db.prisma.consumer.create({
    data: { id: organisationId, organisationId, kind: "organization", name: organisationId },
  });
  await db.prisma.budget.create({
    data: {
      id: budgetId,
      organisationId,
      consumerId: organisationId,
      name: "all",
      periodKind: "month",
      limitAmount: options.limit ?? 1_000_000_000n,
      ...(options.openingPeriodId === undefined
        ? {}
        : { openingPeriodId: options.openingPeriodId, openingAmount: options.openingAmount ?? 0n }),
    },
  });
  return { organisationId, budgetId };
}

export interface EventOptions {
  readonly organisationId: string;
  readonly budgetId: string;
  readonly amount?: bigint;
  readonly periodId?: string;
  readonly reservedAtMs?: number;
}

/** A measured answer of 100 input and 20 output tokens, charged to one budget. */
export function usageEventOf(options: EventOptions, changes: Partial<UsageEvent> = {}): UsageEvent {
  const reservedAtMs = options.reservedAtMs ?? Date.now();
  const amount = (options.amount ?? 1_000n).toString();
  const periodId = options.periodId ?? `M${new Date(reservedAtMs).toISOString().slice(0, 7)}`;
  return {
    organisationId: options.organisationId,
    requestId: newId("req", reservedAtMs),
    attempt: 0,
    reservedAtMs,
    apiKeyId: "key_test",
    appId: "con_app",
    consumerPath: [options.organisationId, "con_app"],
    endUser: "somebody",
    environment: "production",
    trafficClass: "general",
    route: "/v1/chat/completions",
    isStream: false,
    modelRequested: "sandbox-large",
    modelServed: "sandbox-large",
    providerId: "prv_test",
    deploymentId: "dep_test",
    priceId: "prc_test",
    priceCurrency: "USD",
    currency: "USD",
    fxRate: null,
    heldAmount: "5000",
    heldInputTokens: 200,
    heldOutputTokens: 100,
    unknownOutcome: "hold",
    kind: "settled",
    settledAtMs: reservedAtMs + 800,
    outcome: "ok",
    isEstimated: false,
    isOverflow: false,
    decision: "pass",
    rungBasisPoints: 0,
    usage: { inputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 20, reasoningTokens: 0 },
    components: [
      { kind: "input", quantity: 100, rate: "0.000005" },
      { kind: "output", quantity: 20, rate: "0.000025" },
    ],
    priceAmount: amount,
    amount,
    savedAmount: "0",
    lines: [{ b: options.budgetId, p: periodId, m: "cost", a: amount }],
    latencyMs: 800,
    firstByteMs: 120,
    statusCode: 200,
    explanation: { budgetId: options.budgetId, rule: "monthly-department" },
    ...changes,
  };
}
