/**
 * Composition root of the data plane, one for all hosts: Redis adapters, provider client, key hashing.
 * Process-wide: Next's bundle and the lean host are two module graphs, so the one instance hangs on `globalThis`.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gatewayEnv, outboundAllowList } from "@/lib/config/env";
import { hashApiKey } from "@/lib/config/key-hash";
import { signRequestTag } from "@/lib/config/request-tag";
import { openSecret, providerSecretContext } from "@/lib/config/secret-box";
import { systemClock } from "@/lib/domain/clock";
import type { Clock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import { createGateway, createGatewayCore } from "@/lib/gateway/handler";
import type { GatewayCore, GatewayHandler } from "@/lib/gateway/handler";
import { KnownKeys } from "@/lib/gateway/known-keys";
import { mayUseRoute } from "@/lib/identity/scopes";
import { FileJournal } from "@/lib/journal/file-journal";
import { refusedBodyMember } from "@/lib/net/body-rules";
import { checkUrl } from "@/lib/net/check-url";
import { headersForCaller } from "@/lib/net/header-rules";
import type { OutboundPolicy } from "@/lib/net/outbound-policy";
import { outboundPolicy } from "@/lib/net/outbound-policy";
import { adapterOf } from "@/lib/providers/adapters";
import { createHttpClient } from "@/lib/providers/http-client";
import { createAnswerOwners } from "@/lib/redis/answer-owners";
import { createBudgetLedger } from "@/lib/redis/budget-ledger";
import type { RedisBudgetLedger } from "@/lib/redis/budget-ledger";
import type { CallClaimsOptions } from "@/lib/redis/call-claims";
import { createCallClaims } from "@/lib/redis/call-claims";
import { connectHot, connectPatient } from "@/lib/redis/client";
import { createDeferralStore, DeferredBoxes } from "@/lib/redis/deferred-calls";
import type { HotConnection } from "@/lib/redis/client";
import { IssuerDirectory } from "@/lib/redis/issuer-directory";
import { createObjectRegister } from "@/lib/redis/stored-objects";
import { RedisPolicySource } from "@/lib/redis/policy-source";
import { Breakers } from "@/lib/routing/breakers";
import type { RetrySettings } from "@/lib/routing/retry-plan";
import { DEFAULT_RETRY } from "@/lib/routing/retry-plan";
import { createLogger } from "@/lib/telemetry/logger";
import { InputEstimator } from "@/lib/estimate/estimator";
import { isAddressAllowed } from "./address-list";
import { clientAddress } from "./client-address";
import { createCallerTokens } from "./caller-tokens";
import { openTemporarySpool } from "./temporary-spool";

export interface GatewaySettings {
  readonly redisUrl: string;
  /** 32 bytes each. */
  readonly pepper: Buffer;
  readonly masterKey: Buffer;
  readonly clock?: Clock;
  readonly maxBodyBytes?: number;
  readonly maxFormBytes?: number;
  /** Hosts, addresses and ranges beyond the public internet that providers may be at (lib/net/outbound-policy.ts). */
  readonly outboundAllow?: readonly string[];
  /** Addresses and ranges whose X-Forwarded-For is believed; absent: none. */
  readonly trustedProxies?: readonly string[];
  readonly retry?: Partial<RetrySettings>;
  readonly leaseMs?: number;
  /** Absent: nothing is noted on disk, and no call passes while Redis is away. */
  readonly journal?: { readonly folder: string; readonly maxBytes: number };
  readonly maxWaiting?: number;
  /** Told of what an operator should know and no caller is told. */
  readonly onTrouble?: (what: string, error?: unknown) => void;
  /** Bounds of calls that must not run twice. */
  readonly claims?: Partial<Pick<CallClaimsOptions, "waitMs" | "maxBytes" | "maxWaiting">>;
  readonly onFault?: (error: unknown, requestId: string) => void;
}

export interface RunningGateway {
  /** For hosts that speak Web. */
  readonly handle: GatewayHandler;
  /** For the lean host. */
  readonly core: GatewayCore;
  /** For hosts: who called, by the peer of the connection and its X-Forwarded-For (lib/wiring/client-address.ts). */
  readonly clientAddress: (peer: string | undefined, forwardedFor: string | undefined) => string | undefined;
  readonly ledger: RedisBudgetLedger;
  readonly connection: HotConnection;
  /** Stops the heartbeat, delivers what is left, closes connections. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BODY_BYTES = 20 * 1024 * 1024;
/** Forms are spooled, and providers take no more in one. */
const DEFAULT_MAX_FORM_BYTES = 512 * 1024 * 1024;
/** A tokenizer is loaded by the first call that needs it; a call that waits for it is better than one refused for want of it. */
const COUNT_TIMEOUT_MS = 2_000;
/** Waits that a caller with a connection open may be asked for; SDKs try again by themselves. */
const RETRY: RetrySettings = { ...DEFAULT_RETRY, baseDelayMs: 200, maxDelayMs: 2_000, maxRetryAfterMs: 2_000 };

/** Secrets opened once per provider document: documents are replaced when a secret changes. */
function secretOpener(masterKey: Buffer) {
  const opened = new WeakMap<ProviderDocument, string>();
  return (organisationId: string, provider: ProviderDocument): string | null => {
    if (provider.secretBox === null) return null;
    const known = opened.get(provider);
    if (known !== undefined) return known;
    const context = providerSecretContext(organisationId, provider.id);
    const secret = openSecret(masterKey, Buffer.from(provider.secretBox, "base64"), context);
    opened.set(provider, secret);
    return secret;
  };
}

function journalOf({ journal, onTrouble }: GatewaySettings, owner: string): FileJournal | undefined {
  if (!journal) return undefined;
  return new FileJournal({
    ...journal,
    owner,
    elapsedMs: () => performance.now(),
    ...(onTrouble === undefined ? {} : { onTrouble }),
  });
}

function ledgerOf(
  settings: GatewaySettings,
  connection: HotConnection,
  policies: RedisPolicySource,
  clock: Clock,
): RedisBudgetLedger {
  const gatewayId = newId("gw", clock.nowMs());
  return createBudgetLedger({
    connection,
    gatewayId,
    clock,
    journal: journalOf(settings, gatewayId),
    maxWaiting: settings.maxWaiting,
    onEpoch: (organisationId, epoch) => {
      policies.sawEpoch(organisationId, epoch);
    },
    onNewServer: (organisationId) => {
      policies.suspect(organisationId);
    },
    ...(settings.leaseMs === undefined ? {} : { leaseMs: settings.leaseMs }),
    // A clock of a test's own must be the scripts' clock too.
    ...(settings.clock === undefined ? {} : { scriptNowMs: () => String(clock.nowMs()) }),
  });
}

function refusalOfUrl(url: string, policy: OutboundPolicy): string | null {
  const checked = checkUrl(url, policy);
  return checked.ok ? null : checked.message;
}

function claimsOf({ masterKey, leaseMs, claims }: GatewaySettings, connection: HotConnection) {
  return createCallClaims({ connection, masterKey, sleep, ...(leaseMs === undefined ? {} : { leaseMs }), ...claims });
}

export function buildGateway(settings: GatewaySettings): RunningGateway {
  const clock = settings.clock ?? systemClock;
  const connection = connectHot(settings.redisUrl);
  const policies = new RedisPolicySource(connection, connectPatient(settings.redisUrl, "spillway-changes"));
  const ledger = ledgerOf(settings, connection, policies, clock);
  const outbound = outboundPolicy({ allow: settings.outboundAllow ?? [] });
  const providers = createHttpClient({ openSecret: secretOpener(settings.masterKey), outbound });
  const directory = new IssuerDirectory(connection, clock);
  const tokens = createCallerTokens({ policies, directory, clock, masterKey: settings.masterKey, outbound });
  const estimator = new InputEstimator({ pool: { timeoutMs: COUNT_TIMEOUT_MS } });
  const claims = claimsOf(settings, connection);
  const core = createGatewayCore({
    policies,
    ledger,
    claims,
    deferrals: createDeferralStore(connection, new DeferredBoxes(settings.masterKey), () => clock.nowMs()),
    register: createObjectRegister(connection),
    answerOwners: createAnswerOwners(connection),
    providers,
    clock,
    hasher: { hash: (text) => hashApiKey(settings.pepper, text) },
    knownKeys: new KnownKeys(),
    verifyToken: tokens.verify,
    tagger: { tag: (parts) => signRequestTag(settings.pepper, parts) },
    isAddressAllowed,
    mayUsePath: (scopes, path) => mayUseRoute(scopes, path, true),
    adapterOf,
    answerHeaders: headersForCaller,
    urlRefusal: (url) => refusalOfUrl(url, outbound),
    bodyGuard: (body) => refusedBodyMember(body, outbound) ?? null,
    estimator,
    breakers: new Breakers(),
    retry: { ...RETRY, ...settings.retry },
    sleep,
    openSpool: openTemporarySpool,
    newBoundary: () => `spillway-${randomBytes(18).toString("base64url")}`,
    random: Math.random,
    maxBodyBytes: settings.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    maxFormBytes: settings.maxFormBytes ?? DEFAULT_MAX_FORM_BYTES,
    onFault: settings.onFault ?? (() => undefined),
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    claims.close();
    await ledger.close();
    await policies.close();
    await providers.close();
    await tokens.close();
    await estimator.close();
    await connection.close();
  };
  return {
    handle: createGateway(core),
    core,
    clientAddress: (peer, forwardedFor) => clientAddress(peer, forwardedFor, settings.trustedProxies ?? []),
    ledger,
    connection,
    close: () => (closing ??= close()),
  };
}

const processWide = globalThis as typeof globalThis & { spillwayGateway?: RunningGateway };

/** The gateway of this process, from its environment. */
export function getGateway(): RunningGateway {
  if (processWide.spillwayGateway) return processWide.spillwayGateway;
  const env = gatewayEnv();
  const logger = createLogger({ name: "gateway", level: env.LOG_LEVEL });
  processWide.spillwayGateway = buildGateway({
    redisUrl: env.REDIS_URL,
    leaseMs: env.SPILLWAY_LEASE_MS,
    journal: { folder: join(env.SPILLWAY_DATA_DIR, "journal"), maxBytes: env.SPILLWAY_JOURNAL_MAX_BYTES },
    maxWaiting: env.SPILLWAY_USAGE_MAX_WAITING,
    onTrouble: (what, error) => {
      logger.warn({ err: error }, what);
    },
    pepper: Buffer.from(env.SPILLWAY_KEY_PEPPER, "base64"),
    masterKey: Buffer.from(env.SPILLWAY_MASTER_KEY, "base64"),
    outboundAllow: outboundAllowList(env),
    trustedProxies: env.SPILLWAY_TRUSTED_PROXIES,
    onFault: (error, requestId) => {
      logger.error({ err: error, requestId }, "a call failed in a way no branch foresaw");
    },
  });
  return processWide.spillwayGateway;
}
