/**
 * One organisation as the gateway sees it: the snapshot's documents with the indexes a call needs. Immutable; a change
 * makes a new view. What is worked out per key, model and class is remembered with the view and dies with it.
 */
import type { PeriodCache } from "@/lib/domain/period";
import { createPeriodCache } from "@/lib/domain/period";
import type { EffectivePolicy, PolicyDocument } from "@/lib/domain/policy";
import { mergePolicies } from "@/lib/domain/policy";
import { inRollout } from "@/lib/domain/rollout";
import type {
  ApiKeyDocument,
  BudgetDocument,
  ConsumerDocument,
  Environment,
  FxDocument,
  ModelDocument,
  OrganisationDocument,
  PolicySnapshotDocument,
  ProviderDocument,
  RateLimitDocument,
} from "@/lib/domain/snapshot";
import type { CompiledCall } from "./compiled-call";

/**
 * What stands above a key: consumers root first, their policy, budgets and rate limits, the key's own last. Keys of one app
 * that differ in nothing that decides share one chain, so that ten thousand keys are not ten thousand of everything.
 */
export interface CallerChain {
  readonly appId: string;
  readonly environment: Environment;
  readonly isVip: boolean;
  readonly consumers: readonly ConsumerDocument[];
  readonly consumerPath: readonly string[];
  /** Whether a consumer of the chain is frozen; the key's own freeze is on its document. */
  readonly isFrozen: boolean;
  readonly policy: EffectivePolicy;
  readonly budgets: readonly BudgetDocument[];
  readonly rateLimits: readonly RateLimitDocument[];
  /** Compiled calls by model, class and kind. */
  readonly compiled: Map<string, CompiledCall>;
}

export interface OrganisationView {
  readonly epoch: string;
  readonly organisation: OrganisationDocument;
  readonly periods: PeriodCache;
  readonly consumers: ReadonlyMap<string, ConsumerDocument>;
  readonly models: ReadonlyMap<string, ModelDocument>;
  readonly providers: ReadonlyMap<string, ProviderDocument>;
  readonly fx: FxDocument;
  /** Undefined where the key's app is gone. */
  chainOf(key: ApiKeyDocument): CallerChain | undefined;
}

export interface SnapshotDocuments {
  readonly organisation: OrganisationDocument;
  readonly fx: FxDocument;
  readonly consumers: readonly ConsumerDocument[];
  readonly budgets: readonly BudgetDocument[];
  readonly rateLimits: readonly RateLimitDocument[];
  readonly policies: readonly PolicySnapshotDocument[];
  readonly models: readonly ModelDocument[];
  readonly providers: readonly ProviderDocument[];
}

/** The snapshot of one organisation as a PolicySource hands it out: a new object for every change. */
export interface OrganisationSnapshot {
  readonly epoch: string;
  readonly documents: SnapshotDocuments;
}

const MAX_DEPTH = 16;
/** Chains kept per view; keys with budgets of their own have one each. */
const MAX_CHAINS = 20_000;

function byOwner<Owned extends { consumerId: string | null; apiKeyId: string | null }>(
  documents: readonly Owned[],
): Map<string, Owned[]> {
  const owners = new Map<string, Owned[]>();
  for (const document of documents) {
    const owner = document.consumerId ?? document.apiKeyId ?? "";
    const list = owners.get(owner);
    if (list) list.push(document);
    else owners.set(owner, [document]);
  }
  return owners;
}

/** Root first; undefined when a link is missing or the chain is a ring. */
function pathTo(consumers: ReadonlyMap<string, ConsumerDocument>, leafId: string): ConsumerDocument[] | undefined {
  const path: ConsumerDocument[] = [];
  let next: string | null = leafId;
  while (next !== null) {
    const consumer = consumers.get(next);
    if (!consumer || path.length >= MAX_DEPTH) return undefined;
    path.unshift(consumer);
    next = consumer.parentId;
  }
  return path;
}

function policyDocumentFor(policy: PolicySnapshotDocument | undefined, consumerId: string): PolicyDocument | undefined {
  if (!policy) return undefined;
  if (policy.rollout && inRollout(policy.id, consumerId, policy.rollout.percent)) return policy.rollout.document;
  return policy.active?.document;
}

const views = new WeakMap<OrganisationSnapshot, OrganisationView>();

/** The view of a snapshot, made once. */
export function viewOf(snapshot: OrganisationSnapshot): OrganisationView {
  const known = views.get(snapshot);
  if (known) return known;
  const view = createOrganisationView(snapshot);
  views.set(snapshot, view);
  return view;
}

function createOrganisationView({ epoch, documents }: OrganisationSnapshot): OrganisationView {
  const { organisation } = documents;
  const consumers = new Map(documents.consumers.map((consumer) => [consumer.id, consumer]));
  const policies = new Map(documents.policies.map((policy) => [policy.id, policy]));
  const budgets = byOwner(documents.budgets);
  const rateLimits = byOwner(documents.rateLimits);
  const chains = new Map<string, CallerChain>();

  const buildChain = (key: ApiKeyDocument): CallerChain | undefined => {
    const path = pathTo(consumers, key.appId);
    if (!path) return undefined;
    const owners = [...path.map((consumer) => consumer.id), key.keyId];
    const policyIds = [...path.map((consumer) => consumer.policyId), key.policyId];
    const merged = policyIds.flatMap((policyId) => {
      const document = policyId === null ? undefined : policyDocumentFor(policies.get(policyId), key.appId);
      return document ? [document] : [];
    });
    return {
      appId: key.appId,
      environment: key.environment,
      isVip: key.isVip,
      consumers: path,
      consumerPath: path.map((consumer) => consumer.id),
      isFrozen: path.some((consumer) => consumer.frozen),
      policy: mergePolicies(merged),
      budgets: owners.flatMap((owner) => budgets.get(owner) ?? []),
      rateLimits: owners.flatMap((owner) => rateLimits.get(owner) ?? []),
      compiled: new Map(),
    };
  };

  return {
    epoch,
    organisation,
    periods: createPeriodCache({
      timeZone: organisation.timeZone,
      fiscalYearStartMonth: organisation.fiscalYearStartMonth,
      weekStartsOn: organisation.weekStartsOn === 7 ? 7 : 1,
    }),
    consumers,
    models: new Map(documents.models.map((model) => [model.name, model])),
    providers: new Map(documents.providers.map((provider) => [provider.id, provider])),
    fx: documents.fx,
    chainOf: (key) => {
      const own = budgets.has(key.keyId) || rateLimits.has(key.keyId) ? key.keyId : "";
      const id = `${key.appId} ${key.environment} ${String(key.isVip)} ${key.policyId ?? ""} ${own}`;
      const known = chains.get(id);
      if (known) return known;
      const chain = buildChain(key);
      if (chain) {
        if (chains.size >= MAX_CHAINS) chains.clear();
        chains.set(id, chain);
      }
      return chain;
    },
  };
}
