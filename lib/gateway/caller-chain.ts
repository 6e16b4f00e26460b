/**
 * What stands above a call: of its key's app, of the consumer it is booked on where that is another, of the person behind a
 * token, and of the key itself. A call that names somebody else still answers to everything it would have answered to:
 * budgets, limits, freezes and lists of models add up, and none is traded for another.
 */
import { bothSessionLimits } from "@/lib/domain/call-settings";
import type { EffectivePolicy, PolicyDocument } from "@/lib/domain/policy";
import { commonRegions, mergePolicies } from "@/lib/domain/policy";
import { inRollout } from "@/lib/domain/rollout";
import type {
  ApiKeyDocument,
  BudgetDocument,
  ConsumerDocument,
  PolicySnapshotDocument,
  RateLimitDocument,
} from "@/lib/domain/snapshot";
import type { CallerChain } from "./organisation-view";

export interface ChainSources {
  readonly consumers: ReadonlyMap<string, ConsumerDocument>;
  readonly policies: ReadonlyMap<string, PolicySnapshotDocument>;
  /** By the id of the consumer or key they stand at. */
  readonly budgets: ReadonlyMap<string, readonly BudgetDocument[]>;
  readonly rateLimits: ReadonlyMap<string, readonly RateLimitDocument[]>;
}

/** Whose chain: the consumer a call is booked on, and the consumer of the person who calls; null where there is none. */
export interface ChainEnds {
  readonly key: ApiKeyDocument;
  readonly bookedId: string;
  readonly userId: string | null;
}

const MAX_DEPTH = 16;

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

function policyOf(
  { policies }: ChainSources,
  policyIds: readonly (string | null)[],
  consumerId: string,
): EffectivePolicy {
  const documents = policyIds.flatMap((policyId) => {
    const document = policyId === null ? undefined : policyDocumentFor(policies.get(policyId), consumerId);
    return document ? [document] : [];
  });
  return mergePolicies(documents);
}

/** Ladders of the other chain keep their own names, so that each budget runs the ladder it was given. */
const OTHERS = "booked/";

/** The policy of the key's own chain, held to what the booked consumer's chain forbids as well. */
function bothPolicies(own: EffectivePolicy, other: EffectivePolicy): EffectivePolicy {
  const ladders = Object.entries(other.ladders).map(([name, ladder]) => [`${OTHERS}${name}`, ladder] as const);
  return {
    ...own,
    allowLists: [...own.allowLists, ...other.allowLists],
    deny: [...own.deny, ...other.deny],
    ladders: { ...own.ladders, ...Object.fromEntries(ladders) },
    downgrade: { ...other.downgrade, ...own.downgrade },
    fallbacks: { ...other.fallbacks, ...own.fallbacks },
    regions: commonRegions(own.regions, other.regions),
    session: bothSessionLimits(own.session, other.session),
    outputCapTokens: Math.min(own.outputCapTokens, other.outputCapTokens),
    unknownOutcome: other.unknownOutcome === "hold" ? "hold" : own.unknownOutcome,
    staticText: { ...other.staticText, ...own.staticText },
    fallbackPrice: other.fallbackPrice === null ? null : own.fallbackPrice,
  };
}

/** Undefined where a consumer of the chain is gone. */
export function buildChain(sources: ChainSources, { key, bookedId, userId }: ChainEnds): CallerChain | undefined {
  const { consumers } = sources;
  const isOwn = bookedId === key.appId;
  const own = pathTo(consumers, key.appId);
  const booked = isOwn ? own : pathTo(consumers, bookedId);
  const user = userId === null ? undefined : consumers.get(userId);
  if (!own || !booked || (userId !== null && !user)) return undefined;
  // A person who is called for stands below the app once, also where the app's consumer is that person.
  const below = user && !booked.includes(user) && !own.includes(user) ? [user] : [];
  const owner = [...own, ...below];
  const ownPolicy = policyOf(sources, [...owner.map(({ policyId }) => policyId), key.policyId], key.appId);
  const otherIds = booked.map(({ policyId }) => policyId);
  const ownIds = new Set([...owner.map(({ id }) => id), key.keyId]);
  const others = booked.filter(({ id }) => !ownIds.has(id));
  const budgets = [
    ...[...ownIds].flatMap((id) => sources.budgets.get(id) ?? []),
    ...others.flatMap(({ id }) =>
      (sources.budgets.get(id) ?? []).map((budget) =>
        budget.ladder === null ? budget : { ...budget, ladder: `${OTHERS}${budget.ladder}` },
      ),
    ),
  ];
  const above = [...owner, ...others];
  return {
    appId: bookedId,
    environment: key.environment,
    isVip: key.isVip,
    consumers: [...booked, ...below],
    consumerPath: [...booked, ...below].map(({ id }) => id),
    isFrozen: above.some(({ frozen }) => frozen),
    policy: isOwn ? ownPolicy : bothPolicies(ownPolicy, policyOf(sources, otherIds, bookedId)),
    budgets,
    rateLimits: [...ownIds, ...others.map(({ id }) => id)].flatMap((id) => sources.rateLimits.get(id) ?? []),
    countsEndUsers: budgets.some(({ perEndUser }) => perEndUser),
    compiled: new Map(),
  };
}
