/** Rows into the documents that gateways read (lib/domain/snapshot.ts). Pure: what is gone or archived becomes null. */
import type {
  ApiKey,
  ApiKeySecret,
  Budget,
  Consumer,
  Deployment,
  FxRate,
  Grant,
  Model,
  Organisation,
  Policy,
  PolicyVersion,
  Price,
  Provider,
  RateLimit,
  Rollout,
  TokenIssuer,
} from "@/lib/domain/entities";
import type {
  ApiKeyDocument,
  BudgetDocument,
  ConsumerDocument,
  FxDocument,
  ModelDocument,
  OrganisationDocument,
  PolicySnapshotDocument,
  ProviderDocument,
  RateLimitDocument,
  TokenIssuerDocument,
} from "@/lib/domain/snapshot";
import type { LimitRecord } from "@/lib/redis/snapshot-publisher";

export function organisationDocumentOf(row: Organisation): OrganisationDocument {
  return {
    id: row.id,
    name: row.name,
    currency: row.currency,
    timeZone: row.timeZone,
    fiscalYearStartMonth: row.fiscalYearStartMonth,
    weekStartsOn: row.weekStartsOn,
    locale: row.locale,
    budgetRefusalStatus: row.budgetRefusalStatus,
    // No page for asking more budget exists yet; a dead link in a refusal is worse than none.
    topUpUrl: null,
  };
}

export function consumerDocumentOf(row: Consumer): ConsumerDocument | null {
  if (row.archivedAt !== null) return null;
  return {
    id: row.id,
    parentId: row.parentId,
    kind: row.kind,
    name: row.name,
    costCentre: row.costCentre,
    policyId: row.policyId,
    frozen: row.frozenAt !== null,
  };
}

/** The document under one secret's hash; null when it opens nothing any more. */
export function apiKeyDocumentOf(
  key: ApiKey,
  secret: ApiKeySecret,
  app: Consumer | undefined,
  nowMs: number,
): ApiKeyDocument | null {
  if (key.revokedAt !== null || app === undefined || app.archivedAt !== null) return null;
  const ends = [key.expiresAt, secret.validUntil].flatMap((end) => (end === null ? [] : [end.getTime()]));
  const validUntilMs = ends.length === 0 ? null : Math.min(...ends);
  if (validUntilMs !== null && validUntilMs <= nowMs) return null;
  return {
    keyId: key.id,
    appId: key.appId,
    name: key.name,
    environment: key.environment,
    trafficClass: key.trafficClass,
    entitledClasses: [...key.entitledClasses],
    isVip: key.isVip,
    allowedIps: [...key.allowedIps],
    scopes: [...key.scopes],
    entitledConsumers: [...key.entitledConsumerIds],
    policyId: key.policyId,
    validUntilMs,
    frozen: key.frozenAt !== null,
  };
}

export function budgetDocumentOf(row: Budget): BudgetDocument | null {
  if (row.archivedAt !== null) return null;
  const targetId = row.providerId ?? row.deploymentId;
  return {
    ...(targetId === null ? {} : { targetId }),
    id: row.id,
    consumerId: row.consumerId,
    apiKeyId: row.apiKeyId,
    name: row.name,
    meter: row.meter,
    periodKind: row.periodKind,
    enforcement: row.enforcement,
    ladder: row.ladder,
    environment: row.environment,
    models: [...row.models],
    classes: [...row.classes],
    perEndUser: row.perEndUser,
  };
}

/** The live amounts of a budget with its open grants; null once it is archived. */
export function limitRecordOf(row: Budget, grants: readonly Grant[]): LimitRecord | null {
  if (row.archivedAt !== null) return null;
  const byPeriod: Record<string, { amount: string; startsMs: number; endsMs: number }[]> = {};
  for (const grant of grants) {
    if (grant.budgetId !== row.id) continue;
    (byPeriod[grant.periodId] ??= []).push({
      amount: grant.amount.toString(),
      // It holds from when it is published: the clock of whoever granted it need not be the counters' clock.
      startsMs: 0,
      endsMs: grant.endsAt.getTime(),
    });
  }
  return {
    limit: row.limitAmount.toString(),
    overflow: row.overflowAmount.toString(),
    frozen: row.frozenAt !== null,
    version: row.limitVersion.toString(),
    grants: byPeriod,
  };
}

export function rateLimitDocumentOf(row: RateLimit): RateLimitDocument {
  return {
    id: row.id,
    consumerId: row.consumerId,
    apiKeyId: row.apiKeyId,
    requestsPerSecond: row.requestsPerSecond,
    requestsPerMinute: row.requestsPerMinute,
    burstRequests: row.burstRequests,
    tokensPerMinute: row.tokensPerMinute,
    concurrency: row.concurrency,
  };
}

export function policySnapshotDocumentOf(
  policy: Policy,
  versions: ReadonlyMap<string, PolicyVersion>,
  rollout: Rollout | undefined,
): PolicySnapshotDocument {
  const active = policy.activeVersionId === null ? undefined : versions.get(policy.activeVersionId);
  // A paused exposure stays where it is: taking the version away would be an abort.
  const exposed = rollout === undefined ? undefined : versions.get(rollout.policyVersionId);
  return {
    id: policy.id,
    active: active === undefined ? null : { versionId: active.id, document: active.document },
    rollout:
      rollout === undefined || exposed === undefined
        ? null
        : { versionId: exposed.id, percent: rollout.percent, document: exposed.document },
  };
}

export function modelDocumentOf(
  model: Model,
  deployments: readonly Deployment[],
  prices: readonly Price[],
  nowMs: number,
): ModelDocument {
  return {
    id: model.id,
    name: model.name,
    kind: model.kind,
    maxOutputTokens: model.maxOutputTokens,
    contextTokens: model.contextTokens,
    isExternal: model.isExternal,
    disabled: model.disabledAt !== null,
    createdMs: model.createdAt.getTime(),
    deployments: deployments
      .filter((row) => row.modelId === model.id)
      .map((row) => ({
        id: row.id,
        providerId: row.providerId,
        upstreamModel: row.upstreamModel,
        weight: row.weight,
        priority: row.priority,
        region: row.region,
        timeoutMs: row.timeoutMs,
        connectTimeoutMs: row.connectTimeoutMs,
        firstByteTimeoutMs: row.firstByteTimeoutMs,
        idleTimeoutMs: row.idleTimeoutMs,
      })),
    prices: prices
      .filter((row) => row.modelId === model.id && (row.effectiveTo === null || row.effectiveTo.getTime() > nowMs))
      .map((row) => ({
        id: row.id,
        currency: row.currency,
        rates: row.rates,
        effectiveFromMs: row.effectiveFrom.getTime(),
        effectiveToMs: row.effectiveTo?.getTime() ?? null,
      })),
  };
}

export function providerDocumentOf(row: Provider, secretBox: string | undefined): ProviderDocument {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    baseUrl: row.baseUrl,
    secretBox: secretBox ?? null,
    isExternal: row.isExternal,
    disabled: row.disabledAt !== null,
  };
}

export function issuerDocumentOf(row: TokenIssuer, secretBox: string | undefined): TokenIssuerDocument | null {
  if (row.disabledAt !== null) return null;
  return { ...row.definition, id: row.id, organisationId: row.organisationId, secretBox: secretBox ?? null };
}

/** Of each pair the rate in force and those to come. `rows` are earliest first. */
export function fxDocumentOf(rows: readonly FxRate[], nowMs: number): FxDocument {
  const superseded = (row: FxRate): boolean =>
    rows.some(
      (other) =>
        other.base === row.base &&
        other.quote === row.quote &&
        other.effectiveFrom.getTime() > row.effectiveFrom.getTime() &&
        other.effectiveFrom.getTime() <= nowMs,
    );
  return rows
    .filter((row) => !superseded(row))
    .map(({ id, base, quote, rate, effectiveFrom }) => ({
      id,
      base,
      quote,
      rate,
      effectiveFromMs: effectiveFrom.getTime(),
    }));
}
