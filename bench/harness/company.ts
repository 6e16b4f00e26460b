/**
 * Organisations of a bench, made by the real use cases: a tree of any shape, budgets at its nodes and keys, the sandbox
 * as provider under a secret of the organisation's own, so that its lines on the sandbox's bill can be told apart.
 */
import { createHash } from "node:crypto";
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
import type { Budget } from "@/lib/domain/entities";
import type { KeyScope } from "@/lib/domain/key-scopes";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import type { PolicyDocument } from "@/lib/domain/policy";
import type { Enforcement, Environment, Meter } from "@/lib/domain/snapshot";
import { SANDBOX_PRICES, testPrincipal, uniqueOrganisationId } from "@/lib/testing/factories";
import type { SandboxModel } from "@/lib/testing/factories";
import { waitUntil } from "@/lib/services/wait";
import type { BenchStack } from "./stack";

export type NodeKind = "organization" | "department" | "team" | "app";

export interface BudgetSpec {
  /** Nanos of USD. */
  readonly limit: bigint;
  readonly overflow?: bigint;
  readonly ladder?: string | null;
  readonly periodKind?: "day" | "month";
  /** Absent: cost; the limit of another meter counts pieces. */
  readonly meter?: Meter;
  /** Absent: enforce. */
  readonly enforcement?: Enforcement;
  /** Names or patterns of models that it counts; absent: all. */
  readonly models?: readonly string[];
}

export interface KeySpec {
  readonly trafficClass?: string;
  readonly budget?: BudgetSpec;
  /** Absent: production. */
  readonly environment?: Environment;
  readonly scopes?: readonly KeyScope[];
  /** After it is made; absent: never expires. */
  readonly expiresInMs?: number;
  readonly allowedIps?: readonly string[];
}

export interface NodeSpec {
  /** Unique within the company. */
  readonly name: string;
  readonly kind: NodeKind;
  readonly budget?: BudgetSpec;
  readonly children?: readonly NodeSpec[];
  /** Of an app. */
  readonly keys?: readonly KeySpec[];
}

export interface CompanySpec {
  /** Of kind organization. */
  readonly root: NodeSpec;
  /** Absent: both ladder templates; large and medium downgrade to small. */
  readonly policy?: PolicyDocument;
  /** USD per million tokens; absent: what the sandbox charges. */
  readonly prices?: Partial<Record<SandboxModel, { readonly input: string; readonly output: string }>>;
  /** Origin at which the provider is found; absent: the sandbox itself. */
  readonly providerOrigin?: string;
  /** Makes more of it before it is published. */
  readonly extend?: (made: UnpublishedCompany) => Promise<void>;
}

/** A company as far as it is made, for what a bench adds by further use cases. */
export interface UnpublishedCompany {
  /** They publish nothing. */
  readonly deps: ControlDeps;
  readonly organisationId: string;
  readonly providerId: string;
  readonly providerSecret: string;
  readonly nodes: ReadonlyMap<string, string>;
  readonly budgets: ReadonlyMap<string, Budget>;
  readonly keys: readonly CompanyKey[];
}

export interface CompanyKey {
  readonly id: string;
  readonly secret: string;
  readonly app: string;
  readonly trafficClass: string;
  readonly budget: Budget | undefined;
}

export interface Company {
  readonly organisationId: string;
  /** Under which its calls stand on the sandbox's bill. */
  readonly billLabel: string;
  /** Ids by name. */
  readonly nodes: ReadonlyMap<string, string>;
  /** Budgets by the name of their node. */
  readonly budgets: ReadonlyMap<string, Budget>;
  /** In the order of the specification. */
  readonly keys: readonly CompanyKey[];
  readonly policyId: string;
}

const DEFAULT_POLICY: PolicyDocument = {
  ladders: { ...LADDER_TEMPLATES },
  downgrade: { "sandbox-large": "sandbox-small", "sandbox-medium": "sandbox-small" },
};

interface Making {
  readonly deps: ControlDeps;
  readonly organisationId: string;
  readonly nodes: Map<string, string>;
  readonly budgets: Map<string, Budget>;
  readonly keys: CompanyKey[];
}

/** Label of a secret on the sandbox's bill (workers/sandbox/README.md). */
export function billLabelOf(secret: string): string {
  return `${secret.slice(-4)}:${createHash("sha256").update(secret).digest("hex").slice(0, 12)}`;
}

/** Makes the company, publishes it, ends its fence and waits until every gateway process serves it. */
export async function createCompany(stack: BenchStack, spec: CompanySpec): Promise<Company> {
  const deps: ControlDeps = { ...stack.control, publishes: false };
  const organisationId = uniqueOrganisationId();
  await createOrganisation(deps, testPrincipal, {
    id: organisationId,
    name: "Bench company",
    currency: "USD",
    timeZone: "UTC",
  });
  const making: Making = { deps, organisationId, nodes: new Map(), budgets: new Map(), keys: [] };
  const secret = `sandbox-${organisationId}`;
  const baseUrl = `${spec.providerOrigin ?? stack.sandbox.url}/v1`;
  const providerId = await makeModels(making, secret, baseUrl, spec.prices ?? {});
  const policyId = await makePolicy(making, spec.policy ?? DEFAULT_POLICY);
  await makeNode(making, spec.root, null);
  await spec.extend?.({ ...making, providerId, providerSecret: secret });
  await publishAll(stack.control, organisationId, { force: true });
  await ensureGeneration(stack.books, organisationId);
  const { nodes, budgets, keys } = making;
  const company = { organisationId, billLabel: billLabelOf(secret), nodes, budgets, keys, policyId };
  await waitServed(stack, company);
  return company;
}

/** One more key of an app by its name. Published unless `deps` say otherwise. */
export async function addKey(
  deps: ControlDeps,
  company: Pick<Company, "organisationId" | "nodes">,
  app: string,
  spec: KeySpec,
): Promise<CompanyKey> {
  const appId = company.nodes.get(app);
  if (appId === undefined) throw new Error(`the company has no ${app}`);
  const { organisationId } = company;
  const trafficClass = spec.trafficClass ?? "general";
  const { apiKey, secret } = await createApiKey(deps, testPrincipal, {
    organisationId,
    appId,
    name: "bench key",
    environment: spec.environment ?? "production",
    trafficClass,
    entitledClasses: [],
    expiresAtMs: spec.expiresInMs === undefined ? null : Date.now() + spec.expiresInMs,
    allowedIps: [...(spec.allowedIps ?? [])],
    scopes: [...(spec.scopes ?? [])],
  });
  const budget =
    spec.budget && (await makeBudget(deps, organisationId, `key of ${app}`, { apiKeyId: apiKey.id }, spec.budget));
  return { id: apiKey.id, secret, app, trafficClass, budget };
}

/** One more budget of a node or key. Published unless `deps` say otherwise. */
export async function makeBudget(
  deps: ControlDeps,
  organisationId: string,
  name: string,
  target: { readonly consumerId: string } | { readonly apiKeyId: string },
  spec: BudgetSpec,
): Promise<Budget> {
  const { budget } = await createBudget(deps, testPrincipal, {
    organisationId,
    consumerId: null,
    apiKeyId: null,
    ...target,
    name,
    meter: spec.meter ?? "cost",
    periodKind: spec.periodKind ?? "month",
    limitAmount: spec.limit.toString(),
    overflowAmount: (spec.overflow ?? 0n).toString(),
    enforcement: spec.enforcement ?? "enforce",
    ladder: spec.ladder ?? null,
    environment: null,
    models: [...(spec.models ?? [])],
    classes: [],
  });
  return budget;
}

async function makeNode(making: Making, spec: NodeSpec, parentId: string | null): Promise<void> {
  const { deps, organisationId, nodes, budgets, keys } = making;
  let id = organisationId;
  if (parentId !== null && spec.kind !== "organization") {
    const input = { organisationId, parentId, kind: spec.kind, name: spec.name };
    id = (await createConsumer(deps, testPrincipal, input)).consumer.id;
  }
  nodes.set(spec.name, id);
  if (spec.budget)
    budgets.set(spec.name, await makeBudget(deps, organisationId, spec.name, { consumerId: id }, spec.budget));
  for (const child of spec.children ?? []) await makeNode(making, child, id);
  for (const key of spec.keys ?? []) keys.push(await addKey(deps, making, spec.name, key));
}

async function makeModels(
  { deps, organisationId }: Making,
  secret: string,
  baseUrl: string,
  prices: NonNullable<CompanySpec["prices"]>,
): Promise<string> {
  const account = {
    name: "Sandbox",
    kind: "sandbox" as const,
    baseUrl,
    secret,
    isExternal: false,
    billingMode: "request" as const,
  };
  const { provider } = await upsertProvider(deps, testPrincipal, { organisationId, ...account });
  for (const name of ["sandbox-large", "sandbox-medium", "sandbox-small"] as const) {
    const model = { organisationId, name, kind: "chat" as const, maxOutputTokens: 16_384, isExternal: false };
    const modelId = (await upsertModel(deps, testPrincipal, model)).model.id;
    const ref = { organisationId, modelId };
    await upsertDeployment(deps, testPrincipal, { ...ref, providerId: provider.id, upstreamModel: name });
    const { input, output } = prices[name] ?? SANDBOX_PRICES[name];
    await addPrice(deps, testPrincipal, { ...ref, currency: "USD", perMillion: { input, output }, effectiveFromMs: 0 });
  }
  return provider.id;
}

async function makePolicy({ deps, organisationId }: Making, document: PolicyDocument): Promise<string> {
  const { policy } = await createPolicy(deps, testPrincipal, { organisationId, name: "default" });
  await publishPolicyVersion(deps, testPrincipal, { organisationId, policyId: policy.id, document });
  await assignPolicy(deps, testPrincipal, {
    organisationId,
    consumerId: organisationId,
    apiKeyId: null,
    policyId: policy.id,
  });
  return policy.id;
}

/** A gateway process answers 503 until it has loaded the organisation and found it unfenced. */
async function waitServed(stack: BenchStack, company: Company): Promise<void> {
  const key = company.keys[0];
  if (key === undefined) return;
  for (const gateway of stack.gateways) {
    let said = "";
    const isServed = async () => {
      const response = await fetch(`${gateway.url}/v1/me`, { headers: { authorization: `Bearer ${key.secret}` } });
      said = `${String(response.status)} ${await response.text()}`;
      return response.status === 200;
    };
    if (!(await waitUntil(isServed, { timeoutMs: 10_000, everyMs: 20 }))) {
      throw new Error(`${gateway.name} does not serve ${company.organisationId}: ${said}`);
    }
  }
}
