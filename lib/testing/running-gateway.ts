/**
 * A gateway for tests, with everything real behind it: Redis, Postgres, the sandbox provider as its upstream, an
 * organisation made by the control plane. Nothing is mocked; what a test asks of the upstream it says in the call.
 */
import { randomUUID } from "node:crypto";
import { ensureGeneration } from "@/lib/control/recovery";
import type { RecoveryDeps } from "@/lib/control/recovery";
import { applyCorrections, bookEntries } from "@/lib/control/settlement";
import { publishAll } from "@/lib/control/snapshots";
import type { ControlDeps } from "@/lib/control/deps";
import { systemClock } from "@/lib/domain/clock";
import { connectHot } from "@/lib/redis/client";
import type { HotConnection } from "@/lib/redis/client";
import { keysOf } from "@/lib/redis/keys";
import { beginPublication, endPublication } from "@/lib/redis/publication";
import { ensureBookingGroup, peekUsage, removeBooked } from "@/lib/redis/usage-stream";
import { createLogger } from "@/lib/telemetry/logger";
import { buildGateway } from "@/lib/wiring/gateway";
import type { GatewaySettings, RunningGateway } from "@/lib/wiring/gateway";
import { startSandbox } from "@/workers/sandbox/server";
import type { Sandbox } from "@/workers/sandbox/server";
import type { TestOrganisation, TestOrganisationOptions } from "./factories";
import { createTestControl, createTestOrganisation, TEST_MASTER_KEY, TEST_PEPPER } from "./factories";

export interface TestBench {
  readonly control: ControlDeps;
  readonly books: RecoveryDeps;
  readonly store: HotConnection;
  readonly sandbox: Sandbox;
  /** One more gateway process, as far as Redis can tell. */
  gateway(settings?: Partial<GatewaySettings>): Promise<RunningGateway>;
  /** An unfenced organisation whose models are served by the sandbox. */
  organisation(options?: TestOrganisationOptions): Promise<TestOrganisation>;
  /** Settled and held of a budget in its only period so far. */
  counter(organisationId: string, budgetId: string): Promise<{ settled: bigint; held: bigint }>;
  /** Takes the organisation's usage stream into the ledger, as the settlement loop does, and applies corrections. */
  book(organisationId: string): Promise<void>;
  /** Ledger entries of calls that were served or charged, oldest first. */
  ledger(organisationId: string): Promise<LedgerLine[]>;
  close(): Promise<void>;
}

export interface LedgerLine {
  readonly requestId: string;
  readonly kind: string;
  readonly outcome: string;
  readonly isEstimated: boolean;
  readonly amount: bigint;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly periods: readonly string[];
}

async function bookStream(books: RecoveryDeps, organisationId: string): Promise<void> {
  const { redis } = books.store;
  await ensureBookingGroup(redis, organisationId);
  for (;;) {
    const entries = await peekUsage(redis, organisationId, 500);
    if (entries.length === 0) break;
    const result = await bookEntries(books, organisationId, entries);
    await removeBooked(
      redis,
      organisationId,
      entries.map((entry) => entry.id),
      result.dead,
    );
  }
  await applyCorrections(books, organisationId);
}

interface LedgerRow {
  readonly request_id: string;
  readonly kind: string;
  readonly outcome: string;
  readonly is_estimated: boolean;
  readonly amount: string;
  readonly usage: LedgerLine["usage"];
  readonly lines: { readonly p: string }[];
}

async function readLedger(books: RecoveryDeps, organisationId: string): Promise<LedgerLine[]> {
  const { rows } = await books.db.pool.query<LedgerRow>(
    `SELECT request_id, kind, outcome, is_estimated, amount::text, usage, lines FROM ledger_entries
     WHERE organisation_id = $1 AND usage->>'requests' IS DISTINCT FROM '0' ORDER BY ledger_sequence`,
    [organisationId],
  );
  return rows.map((row) => ({
    requestId: row.request_id,
    kind: row.kind,
    outcome: row.outcome,
    isEstimated: row.is_estimated,
    amount: BigInt(row.amount),
    usage: row.usage,
    periods: row.lines.map((line) => line.p),
  }));
}

export async function ready(connection: HotConnection): Promise<void> {
  if (connection.runId() !== undefined) return;
  await new Promise<void>((resolve) => {
    connection.onRunId(() => {
      resolve();
    });
  });
}

async function counterOf(connection: HotConnection, organisationId: string, budgetId: string) {
  const [, found] = await connection.redis.scan(
    0,
    "MATCH",
    keysOf(organisationId).counter(budgetId, "*"),
    "COUNT",
    1_000_000,
  );
  let settled = 0n;
  let held = 0n;
  for (const key of found) {
    const [s, h] = await connection.redis.hmget(key, "s", "h");
    settled += BigInt(s ?? "0");
    held += BigInt(h ?? "0");
  }
  return { settled, held };
}

export async function startTestBench(databaseUrl: string, redisUrl: string): Promise<TestBench> {
  const control = createTestControl(databaseUrl, redisUrl);
  const store = connectHot(redisUrl, { name: "spillway-test-store" });
  const sandbox = await startSandbox({ allowReset: true, recordRequests: true });
  await ready(store);
  // As the worker says it: an organisation that is not found does not exist.
  await endPublication(store.redis, await beginPublication(store.redis, randomUUID()));
  const books: RecoveryDeps = {
    db: control.db,
    store,
    clock: systemClock,
    log: createLogger({ name: "test", level: "silent" }),
    publish: async (organisationId, options) => {
      await publishAll(control, organisationId, options);
    },
  };
  const gateways: RunningGateway[] = [];
  return {
    control,
    books,
    store,
    sandbox,
    gateway: async (settings = {}) => {
      const gateway = buildGateway({
        redisUrl,
        pepper: TEST_PEPPER,
        masterKey: TEST_MASTER_KEY,
        // The sandbox.
        outboundAllow: ["127.0.0.1"],
        ...settings,
      });
      gateways.push(gateway);
      await ready(gateway.connection);
      return gateway;
    },
    organisation: async (options = {}) => {
      const made = await createTestOrganisation(control, { sandboxUrl: `${sandbox.url}/v1`, ...options });
      await ensureGeneration(books, made.organisationId);
      return made;
    },
    counter: (organisationId, budgetId) => counterOf(store, organisationId, budgetId),
    book: (organisationId) => bookStream(books, organisationId),
    ledger: (organisationId) => readLedger(books, organisationId),
    close: async () => {
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await sandbox.close();
      await store.close();
      await control.close();
    },
  };
}
