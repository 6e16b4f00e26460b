/**
 * A store that can be stopped, emptied and started again under gateways with budgets that are enforced or only counted: what the
 * tests of its troubles share.
 */
import { join } from "node:path";
import { expect } from "vitest";
import { updateBudget } from "@/lib/control/budgets";
import { FenceWatch, recoverOrganisation } from "@/lib/control/recovery";
import { startRedis } from "@/lib/services/redis";
import { throwAwayFolder } from "@/lib/services/throw-away";
import type { GatewaySettings, RunningGateway } from "@/lib/wiring/gateway";
import type { TestOrganisation, TestOrganisationOptions } from "./factories";
import { testPrincipal } from "./factories";
import type { TestBench } from "./running-gateway";
import { startTestBench } from "./running-gateway";
import { testDatabaseUrl } from "./services";

const BODY = { model: "sandbox-small", max_tokens: 16, messages: [{ role: "user", content: "hi" }] };

export interface StoreRig {
  readonly bench: TestBench;
  readonly redisUrl: string;
  stopStore(): Promise<void>;
  /** With the data it had. */
  startStore(): Promise<void>;
  /** An organisation whose one budget is only counted, unless it is said to be enforced. */
  organisation(enforcement?: "enforce" | "warn", options?: TestOrganisationOptions): Promise<TestOrganisation>;
  /** Brings every gateway and the organisations back, as heartbeats and the worker do; all that have had calls meanwhile. */
  heal(organisations: readonly TestOrganisation[], gateways: readonly RunningGateway[]): Promise<void>;
  /** Entries, their sum, and what the budget's counter holds. */
  books(made: TestOrganisation): Promise<Books>;
  close(): Promise<void>;
}

export interface Books {
  readonly entries: number;
  readonly estimated: number;
  readonly sum: bigint;
  readonly settled: bigint;
  readonly held: bigint;
}

export async function startStoreRig(): Promise<StoreRig> {
  const dataDir = throwAwayFolder("spillway-redis");
  let redis = await startRedis({ dataDir, appendonly: true });
  const bench = await startTestBench(await testDatabaseUrl(), redis.url);
  return {
    bench,
    redisUrl: redis.url,
    stopStore: () => redis.stop(),
    startStore: async () => {
      redis = await startRedis({ dataDir, appendonly: true, port: redis.port });
      await expect.poll(() => bench.store.runId(), { timeout: 10_000 }).toBeDefined();
    },
    organisation: (enforcement = "warn", options = {}) => organisation(bench, enforcement, options),
    heal: (organisations, gateways) => heal(bench, organisations, gateways),
    books: (made) => books(bench, made),
    close: async () => {
      await bench.close();
      await redis.stop();
    },
  };
}

async function organisation(
  bench: TestBench,
  enforcement: "enforce" | "warn",
  options: TestOrganisationOptions,
): Promise<TestOrganisation> {
  const made = await bench.organisation(options);
  const budget = made.budgets.organisation;
  if (enforcement === "warn" && budget) {
    const { organisationId } = made;
    const expectedVersion = budget.limitVersion.toString();
    await updateBudget(bench.control, testPrincipal, {
      organisationId,
      budgetId: budget.id,
      expectedVersion,
      enforcement,
    });
  }
  return made;
}

async function heal(
  bench: TestBench,
  organisations: readonly TestOrganisation[],
  gateways: readonly RunningGateway[],
): Promise<void> {
  const watch = new FenceWatch();
  for (const { organisationId } of organisations) {
    const step = async () => {
      for (const gateway of gateways) await gateway.ledger.heartbeat();
      return recoverOrganisation(bench.books, organisationId, watch).catch(() => "away");
    };
    await expect.poll(step, { timeout: 20_000 }).toMatch(/^(recovered|sound)$/u);
  }
  for (const gateway of gateways) {
    await expect
      .poll(
        async () => {
          await gateway.ledger.heartbeat();
          const { open, undelivered } = gateway.ledger.counts();
          return open + undelivered;
        },
        { timeout: 10_000 },
      )
      .toBe(0);
  }
}

async function books(bench: TestBench, made: TestOrganisation): Promise<Books> {
  await bench.book(made.organisationId);
  const entries = await bench.ledger(made.organisationId);
  const sum = entries.reduce((total, entry) => total + entry.amount, 0n);
  const { settled, held } = await bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
  return {
    entries: entries.length,
    estimated: entries.filter((entry) => entry.isEstimated).length,
    sum,
    settled,
    held,
  };
}

/** A journal of its own. */
export function journal(maxBytes = 1_000_000): NonNullable<GatewaySettings["journal"]> {
  return { folder: join(throwAwayFolder("spillway-data"), "journal"), maxBytes };
}

export function chatRequest(secret: string, members: object = {}): Request {
  return new Request("http://gateway.test/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify({ ...BODY, ...members }),
  });
}

export async function ask(gateway: RunningGateway, secret: string, members: object = {}): Promise<Response> {
  return gateway.handle(chatRequest(secret, members), { waitUntil: () => undefined });
}

/** The status of one call, and the code where it was refused. */
export async function call(gateway: RunningGateway, secret: string, members: object = {}): Promise<string> {
  const response = await ask(gateway, secret, members);
  const { error } = (await response.json()) as { error?: { code: string } };
  return error ? `${String(response.status)} ${error.code}` : String(response.status);
}
