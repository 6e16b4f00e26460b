/**
 * Unique organisations for tests, made by the real use cases. Nothing is shared between two calls, so tests may run side
 * by side on one database and one Redis.
 */
import { randomBytes } from "node:crypto";
import { createApiKey } from "@/lib/control/api-keys";
import { createBudget } from "@/lib/control/budgets";
import { createConsumer } from "@/lib/control/consumers";
import type { ControlDeps } from "@/lib/control/deps";
import { upsertDeployment, upsertModel } from "@/lib/control/models";
import { createOrganisation } from "@/lib/control/organisations";
import { assignPolicy, createPolicy, publishPolicyVersion } from "@/lib/control/policies";
import { addPrice } from "@/lib/control/prices";
import { upsertProvider } from "@/lib/control/providers";
import { ensureGeneration } from "@/lib/control/recovery";
import { publishAll } from "@/lib/control/snapshots";
import { getDb } from "@/lib/db/client";
import { systemClock } from "@/lib/domain/clock";
import type { Clock } from "@/lib/domain/clock";
import type { Budget } from "@/lib/domain/entities";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";
import { systemPrincipal } from "@/lib/domain/role";
import type { Environment } from "@/lib/domain/snapshot";
import { connectPatient, connectHot } from "@/lib/redis/client";
import type { HotConnection } from "@/lib/redis/client";
import { createLogger } from "@/lib/telemetry/logger";
import { createOutbound } from "@/lib/wiring/outbound";

export const testPrincipal = systemPrincipal("test");

/** The pepper and master key of every test, so that a gateway under test knows the same ones. */
export const TEST_PEPPER = Buffer.alloc(32, 7);
export const TEST_MASTER_KEY = Buffer.alloc(32, 9);

export interface TestControl extends ControlDeps {
  /** For lifting the fence of a new organisation, as the worker does. */
  readonly store: HotConnection;
  /** Ends the Redis connections; the database closes with the process. */
  readonly close: () => Promise<void>;
}

/** Control dependencies on these servers. */
export function createTestControl(databaseUrl: string, redisUrl: string, clock: Clock = systemClock): TestControl {
  const redis = connectPatient(redisUrl, "spillway-test-control");
  const store = connectHot(redisUrl, { name: "spillway-test-store" });
  return {
    db: getDb(databaseUrl),
    redis,
    store,
    clock,
    masterKey: TEST_MASTER_KEY,
    pepper: TEST_PEPPER,
    // The stand-in provider of tests listens on loopback.
    outbound: createOutbound(["127.0.0.0/8"]),
    close: async () => {
      await Promise.all([redis.quit(), store.close()]);
    },
  };
}

/** 12 characters that no other test has. */
export function uniqueOrganisationId(): string {
  return `t${randomBytes(6).toString("hex").slice(0, 11)}`;
}

interface TestKeyOptions {
  readonly environment?: Environment;
  readonly trafficClass?: string;
  readonly isVip?: boolean;
  readonly allowedIps?: readonly string[];
}

/** USD per million tokens of the sandbox's models. */
export const SANDBOX_PRICES = {
  "sandbox-large": { kind: "chat", input: "2.50", cacheRead: "1.25", output: "10.00" },
  "sandbox-medium": { kind: "chat", input: "0.80", cacheRead: "0.40", output: "3.20" },
  "sandbox-small": { kind: "chat", input: "0.15", cacheRead: "0.075", output: "0.60" },
  "sandbox-embed": { kind: "embedding", input: "0.02", cacheRead: undefined, output: undefined },
} as const;
export type SandboxModel = keyof typeof SANDBOX_PRICES;

export interface TestOrganisationOptions {
  readonly currency?: string;
  readonly timeZone?: string;
  readonly isSample?: boolean;
  /** Nanos. A monthly cost budget at each node named; absent: 100 units at the organisation only. */
  readonly budgets?: Partial<Record<"organisation" | "department" | "team" | "app", bigint>>;
  readonly budget?: {
    readonly ladder?: string | null;
    readonly overflowAmount?: bigint;
    readonly periodKind?: "day" | "month";
  };
  readonly key?: TestKeyOptions;
  /** Absent: both ladder templates, and large and medium downgrade to small. null: no policy at all. */
  readonly policy?: PolicyDocument | null;
  /** Where the stand-in provider listens. */
  readonly sandboxUrl?: string;
  readonly models?: readonly SandboxModel[];
}

export interface TestOrganisation {
  readonly organisationId: string;
  readonly consumers: {
    readonly root: string;
    readonly department: string;
    readonly team: string;
    readonly app: string;
  };
  readonly budgets: Partial<Record<"organisation" | "department" | "team" | "app", Budget>>;
  /** The full key, its id and the app it belongs to. */
  readonly apiKey: { readonly id: string; readonly secret: string };
  readonly provider: { readonly id: string };
  readonly models: Partial<
    Record<SandboxModel, { readonly id: string; readonly deploymentId: string; readonly priceId: string }>
  >;
  readonly policyId: string | null;
}

/** A key of an app with nothing special about it but what `key` says. */
export function createTestKey(
  deps: ControlDeps,
  organisationId: string,
  appId: string,
  key: TestKeyOptions = {},
): ReturnType<typeof createApiKey> {
  return createApiKey(deps, testPrincipal, {
    organisationId,
    appId,
    name: "test key",
    environment: key.environment ?? "production",
    trafficClass: key.trafficClass ?? "general",
    entitledClasses: [],
    expiresAtMs: null,
    allowedIps: [...(key.allowedIps ?? [])],
    isVip: key.isVip ?? false,
  });
}

/**
 * organisation > department > team > app, budgets, a key, the sandbox provider with priced models; published to Redis and
 * unfenced, so that a gateway may reserve at once.
 */
export async function createTestOrganisation(
  deps: TestControl,
  options: TestOrganisationOptions = {},
): Promise<TestOrganisation> {
  const quiet: ControlDeps = { ...deps, publishes: false };
  const { organisation } = await createOrganisation(quiet, testPrincipal, {
    id: uniqueOrganisationId(),
    name: "Test company",
    currency: options.currency ?? "USD",
    timeZone: options.timeZone ?? "UTC",
    isSample: options.isSample ?? false,
  });
  const organisationId = organisation.id;
  const consumers = await createTree(quiet, organisationId);
  const budgets = await createBudgets(quiet, organisationId, consumers, options);
  const { apiKey, secret } = await createTestKey(quiet, organisationId, consumers.app, options.key);
  const { provider, models } = await createSandboxModels(quiet, organisationId, options);
  const policyId = await createTestPolicy(quiet, organisationId, options.policy);
  await publishAll(deps, organisationId, { force: true });
  await unfence(deps, organisationId);
  return {
    organisationId,
    consumers,
    budgets,
    apiKey: { id: apiKey.id, secret },
    provider,
    models,
    policyId,
  };
}

/** No gateway has ever held anything of a new organisation, so nobody needs to be waited for. */
async function unfence(deps: TestControl, organisationId: string): Promise<void> {
  await new Promise<void>((resolve) => deps.store.onRunId(() => resolve()));
  const publish = async (id: string, options: { readonly force: boolean }): Promise<void> => {
    await publishAll(deps, id, options);
  };
  // A process that makes organisations and waits for their counters runs on real time, whatever the clock under test says.
  const recovery = { db: deps.db, store: deps.store, clock: systemClock, log: testLog, publish, graceMs: 0 };
  await ensureGeneration(recovery, organisationId);
}

const testLog = createLogger({ name: "test", level: "silent" });

async function createTree(deps: ControlDeps, organisationId: string): Promise<TestOrganisation["consumers"]> {
  const add = async (parentId: string, kind: "department" | "team" | "app"): Promise<string> => {
    const { consumer } = await createConsumer(deps, testPrincipal, { organisationId, parentId, kind, name: kind });
    return consumer.id;
  };
  const department = await add(organisationId, "department");
  const team = await add(department, "team");
  return { root: organisationId, department, team, app: await add(team, "app") };
}

const DEFAULT_LIMIT = 100_000_000_000n;

async function createBudgets(
  deps: ControlDeps,
  organisationId: string,
  consumers: TestOrganisation["consumers"],
  options: TestOrganisationOptions,
): Promise<TestOrganisation["budgets"]> {
  const made: TestOrganisation["budgets"] = {};
  const wanted = options.budgets ?? { organisation: DEFAULT_LIMIT };
  for (const level of ["organisation", "department", "team", "app"] as const) {
    const limit = wanted[level];
    if (limit === undefined) continue;
    const { budget } = await createBudget(deps, testPrincipal, {
      organisationId,
      consumerId: level === "organisation" ? consumers.root : consumers[level],
      apiKeyId: null,
      name: `${level} budget`,
      meter: "cost",
      periodKind: options.budget?.periodKind ?? "month",
      limitAmount: limit.toString(),
      overflowAmount: (options.budget?.overflowAmount ?? 0n).toString(),
      enforcement: "enforce",
      ladder: options.budget?.ladder ?? null,
      environment: null,
      models: [],
      classes: [],
    });
    made[level] = budget;
  }
  return made;
}

async function createSandboxModels(
  deps: ControlDeps,
  organisationId: string,
  options: TestOrganisationOptions,
): Promise<Pick<TestOrganisation, "provider" | "models">> {
  const { provider } = await upsertProvider(deps, testPrincipal, {
    organisationId,
    name: "Sandbox",
    kind: "sandbox",
    baseUrl: options.sandboxUrl ?? "http://127.0.0.1:4010/v1",
    secret: "sandbox-secret-for-tests",
    isExternal: false,
    billingMode: "request",
  });
  const models: { -readonly [Name in SandboxModel]?: { id: string; deploymentId: string; priceId: string } } = {};
  for (const name of options.models ?? (Object.keys(SANDBOX_PRICES) as SandboxModel[])) {
    const { kind, input, output, cacheRead } = SANDBOX_PRICES[name];
    const { model } = await upsertModel(deps, testPrincipal, {
      organisationId,
      name,
      kind,
      maxOutputTokens: kind === "chat" ? 16_384 : null,
      isExternal: false,
    });
    const ref = { organisationId, modelId: model.id };
    const { deployment } = await upsertDeployment(deps, testPrincipal, {
      ...ref,
      providerId: provider.id,
      upstreamModel: name,
    });
    const { price } = await addPrice(deps, testPrincipal, {
      ...ref,
      currency: "USD",
      perMillion: {
        input,
        ...(output === undefined ? {} : { output }),
        ...(cacheRead === undefined ? {} : { cacheRead }),
      },
      effectiveFromMs: 0,
    });
    models[name] = { id: model.id, deploymentId: deployment.id, priceId: price.id };
  }
  return { provider: { id: provider.id }, models };
}

async function createTestPolicy(
  deps: ControlDeps,
  organisationId: string,
  document: PolicyDocument | null | undefined,
): Promise<string | null> {
  if (document === null) return null;
  const { policy } = await createPolicy(deps, testPrincipal, { organisationId, name: "default" });
  await publishPolicyVersion(deps, testPrincipal, {
    organisationId,
    policyId: policy.id,
    document: document ?? {
      ladders: { ...LADDER_TEMPLATES },
      downgrade: { "sandbox-large": "sandbox-small", "sandbox-medium": "sandbox-small" },
    },
  });
  await assignPolicy(deps, testPrincipal, {
    organisationId,
    consumerId: organisationId,
    apiKeyId: null,
    policyId: policy.id,
  });
  return policy.id;
}
