/**
 * One organisation as the gateway sees it: the snapshot's documents with the indexes a call needs. Immutable; a change
 * makes a new view. What is worked out per key, model and class is remembered with the view and dies with it.
 */
import type { PeriodCache } from "@/lib/domain/period";
import { createPeriodCache } from "@/lib/domain/period";
import type { EffectivePolicy } from "@/lib/domain/policy";
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
  TokenIssuerDocument,
} from "@/lib/domain/snapshot";
import type { ChainEnds, ChainSources } from "./caller-chain";
import { buildChain } from "./caller-chain";
import type { CompiledCall } from "./compiled-call";

/**
 * What stands above a key: consumers root first, their policy, budgets and rate limits, the key's own last. Keys of one app
 * that differ in nothing that decides share one chain, so that ten thousand keys are not ten thousand of everything.
 */
export interface CallerChain {
  /** The consumer the call is booked on: the key's app, unless another was named. */
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
  /** Whether a budget is counted for each end user. */
  readonly countsEndUsers: boolean;
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
  /** Budgets of providers and deployments, by whose they are. */
  readonly targetBudgets: ReadonlyMap<string, readonly BudgetDocument[]>;
  /** Undefined where the key's app is gone. */
  chainOf(key: ApiKeyDocument): CallerChain | undefined;
  /** The same for a call that is booked on another consumer, or made for a person who is a consumer. */
  chainFor(key: ApiKeyDocument, bookedId: string, userId: string | null): CallerChain | undefined;
  /** The user of this exact name right below a consumer; names are unique there. */
  userBelow(parentId: string, name: string): ConsumerDocument | undefined;
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
  readonly issuers: readonly TokenIssuerDocument[];
}

/** The snapshot of one organisation as a PolicySource hands it out: a new object for every change. */
export interface OrganisationSnapshot {
  readonly epoch: string;
  readonly documents: SnapshotDocuments;
}

/** Chains kept per view; keys with budgets of their own have one each. */
const MAX_CHAINS = 20_000;

interface OfCaller {
  readonly consumerId: string | null;
  readonly apiKeyId: string | null;
}

function callerOf({ consumerId, apiKeyId }: OfCaller): string {
  return consumerId ?? apiKeyId ?? "";
}

function byOwner<Owned>(documents: readonly Owned[], ownerOf: (document: Owned) => string): Map<string, Owned[]> {
  const owners = new Map<string, Owned[]>();
  for (const document of documents) {
    const owner = ownerOf(document);
    const list = owners.get(owner);
    if (list) list.push(document);
    else owners.set(owner, [document]);
  }
  return owners;
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
  const ofCallers = documents.budgets.filter(({ targetId }) => targetId === undefined);
  const ofTargets = documents.budgets.filter(({ targetId }) => targetId !== undefined);
  const sources: ChainSources = {
    consumers,
    policies: new Map(documents.policies.map((policy) => [policy.id, policy])),
    budgets: byOwner(ofCallers, callerOf),
    rateLimits: byOwner(documents.rateLimits, callerOf),
  };
  let users: ReadonlyMap<string, ConsumerDocument> | undefined;
  const chains = new Map<string, CallerChain>();

  const remembered = (id: string, ends: ChainEnds): CallerChain | undefined => {
    const known = chains.get(id);
    if (known) return known;
    const chain = buildChain(sources, ends);
    if (chain) {
      if (chains.size >= MAX_CHAINS) chains.clear();
      chains.set(id, chain);
    }
    return chain;
  };
  const idOf = (key: ApiKeyDocument): string => {
    const own = sources.budgets.has(key.keyId) || sources.rateLimits.has(key.keyId) ? key.keyId : "";
    return `${key.appId} ${key.environment} ${String(key.isVip)} ${key.policyId ?? ""} ${own}`;
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
    targetBudgets: byOwner(ofTargets, ({ targetId }) => targetId ?? ""),
    chainOf: (key) => remembered(idOf(key), { key, bookedId: key.appId, userId: null }),
    chainFor: (key, bookedId, userId) =>
      remembered(`${idOf(key)} ${bookedId} ${userId ?? ""}`, { key, bookedId, userId }),
    userBelow: (parentId, name) => (users ??= usersByName(documents.consumers)).get(`${parentId} ${name}`),
  };
}

function usersByName(consumers: readonly ConsumerDocument[]): Map<string, ConsumerDocument> {
  const users = consumers.filter(({ kind }) => kind === "user");
  return new Map(users.map((user) => [`${user.parentId ?? ""} ${user.name}`, user]));
}
