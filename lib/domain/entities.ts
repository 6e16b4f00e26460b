/**
 * The nouns of the system of record, as the database functions hand them out. Money is a bigint of nanos of the
 * organisation's currency (a plain count for meters other than `cost`); times are UTC instants; null means "not set".
 */
import type { PeriodCalendar, PeriodKind } from "./period";
import type { PolicyDocument } from "./policy";
import type { Role } from "./role";
import type { ConsumerKind, Enforcement, Environment, Meter, PriceRates, TokenIssuerDocument } from "./snapshot";

export interface Organisation {
  readonly id: string;
  readonly name: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly fiscalYearStartMonth: number;
  readonly weekStartsOn: number;
  readonly locale: string;
  readonly budgetRefusalStatus: number;
  readonly isSample: boolean;
  readonly snapshotEpoch: bigint;
  readonly publishedEpoch: bigint;
  readonly createdAt: Date;
}

/** How this organisation cuts time. */
export function calendarOf(organisation: Organisation): PeriodCalendar {
  return {
    timeZone: organisation.timeZone,
    fiscalYearStartMonth: organisation.fiscalYearStartMonth,
    weekStartsOn: organisation.weekStartsOn === 7 ? 7 : 1,
  };
}

export interface Consumer {
  readonly id: string;
  readonly organisationId: string;
  readonly parentId: string | null;
  readonly kind: ConsumerKind;
  readonly name: string;
  readonly costCentre: string | null;
  readonly ownerUserId: string | null;
  readonly policyId: string | null;
  readonly frozenAt: Date | null;
  readonly archivedAt: Date | null;
}

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly locale: string | null;
  readonly sessionVersion: number;
  readonly disabledAt: Date | null;
}

export interface Membership {
  readonly id: string;
  readonly organisationId: string;
  readonly userId: string;
  readonly consumerId: string;
  readonly role: Role;
}

export interface ApiKeySecret {
  readonly hash: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly validUntil: Date | null;
  readonly createdAt: Date;
}

export interface ApiKey {
  readonly id: string;
  readonly organisationId: string;
  readonly appId: string;
  readonly name: string;
  readonly environment: Environment;
  readonly trafficClass: string;
  readonly entitledClasses: readonly string[];
  readonly isVip: boolean;
  readonly scopes: readonly string[];
  readonly entitledConsumerIds: readonly string[];
  readonly allowedIps: readonly string[];
  readonly policyId: string | null;
  readonly createdById: string | null;
  readonly expiresAt: Date | null;
  readonly frozenAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  /** Newest first. */
  readonly secrets: readonly ApiKeySecret[];
}

export interface Provider {
  readonly id: string;
  readonly organisationId: string;
  readonly kind: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly secretChangedAt: Date | null;
  readonly secretHint: string | null;
  readonly isExternal: boolean;
  readonly billingMode: string;
  readonly disabledAt: Date | null;
}

export interface Model {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string;
  readonly kind: string;
  readonly maxOutputTokens: number | null;
  readonly contextTokens: number | null;
  readonly isExternal: boolean;
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

export interface Deployment {
  readonly id: string;
  readonly organisationId: string;
  readonly modelId: string;
  readonly providerId: string;
  readonly upstreamModel: string;
  readonly weight: number;
  readonly priority: number;
  readonly region: string | null;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number | null;
  readonly firstByteTimeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly disabledAt: Date | null;
}

export interface Price {
  readonly id: string;
  readonly organisationId: string;
  readonly modelId: string;
  readonly currency: string;
  readonly rates: PriceRates;
  readonly source: string;
  /** The import that brought it; null: typed by hand. */
  readonly importId: string | null;
  readonly effectiveFrom: Date;
  readonly effectiveTo: Date | null;
}

export interface FxRate {
  readonly id: string;
  readonly organisationId: string;
  readonly base: string;
  readonly quote: string;
  readonly rate: string;
  readonly source: string;
  readonly importId: string | null;
  readonly effectiveFrom: Date;
}

export interface PriceImport {
  readonly id: string;
  readonly organisationId: string;
  readonly book: "prices" | "fx";
  readonly format: string;
  readonly source: string;
  readonly textHash: string;
  readonly rowCount: number;
  readonly undoneAt: Date | null;
  readonly createdAt: Date;
}

export interface TokenIssuer {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string;
  readonly definition: TokenIssuerDefinition;
  readonly secretChangedAt: Date | null;
  readonly disabledAt: Date | null;
}

/** What an issuer is trusted for; ids, state and secret stand beside it. */
export type TokenIssuerDefinition = Omit<TokenIssuerDocument, "id" | "organisationId" | "secretBox">;

export interface Grant {
  readonly id: string;
  readonly organisationId: string;
  readonly budgetId: string;
  readonly periodId: string;
  readonly amount: bigint;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly kind: string;
  readonly reason: string;
  readonly approvalId: string | null;
  readonly revokedAt: Date | null;
  readonly createdById: string | null;
}

/** Stands at one of four: a consumer, a key, a provider or a deployment. */
export interface Budget {
  readonly id: string;
  readonly organisationId: string;
  readonly consumerId: string | null;
  readonly apiKeyId: string | null;
  readonly providerId: string | null;
  readonly deploymentId: string | null;
  readonly name: string;
  readonly meter: Meter;
  readonly periodKind: PeriodKind;
  readonly limitAmount: bigint;
  readonly overflowAmount: bigint;
  readonly enforcement: Enforcement;
  readonly ladder: string | null;
  readonly environment: Environment | null;
  readonly models: readonly string[];
  readonly classes: readonly string[];
  readonly perEndUser: boolean;
  readonly frozenAt: Date | null;
  readonly archivedAt: Date | null;
  /** Raised by every change of the row; an editor states the one it saw. */
  readonly limitVersion: bigint;
  readonly openingPeriodId: string | null;
  readonly openingAmount: bigint;
}

export interface RateLimit {
  readonly id: string;
  readonly organisationId: string;
  readonly consumerId: string | null;
  readonly apiKeyId: string | null;
  readonly requestsPerSecond: number | null;
  readonly requestsPerMinute: number | null;
  readonly burstRequests: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrency: number | null;
}

export interface Policy {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string;
  readonly activeVersionId: string | null;
}

export interface PolicyVersion {
  readonly id: string;
  readonly organisationId: string;
  readonly policyId: string;
  readonly number: number;
  readonly document: PolicyDocument;
  readonly note: string | null;
  readonly createdById: string | null;
  readonly createdAt: Date;
}

export interface Rollout {
  readonly id: string;
  readonly organisationId: string;
  readonly policyId: string;
  readonly policyVersionId: string;
  readonly percent: number;
  readonly state: "running" | "paused" | "completed" | "aborted";
}

export interface AuditEntry {
  readonly id: string;
  readonly organisationId: string;
  readonly actorId: string | null;
  readonly actorLabel: string;
  readonly action: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly requestId: string | null;
  readonly effectiveAt: Date;
  readonly createdAt: Date;
}

/** What the outbox names; `consumer` etc. carry that row's id. `fx` and `organisation` carry the organisation's id. */
export const SNAPSHOT_ENTITIES = [
  "organisation",
  "consumer",
  "key",
  "budget",
  "policy",
  "model",
  "provider",
  "fx",
  "rate_limit",
  "issuer",
] as const;
export type SnapshotEntity = (typeof SNAPSHOT_ENTITIES)[number];
