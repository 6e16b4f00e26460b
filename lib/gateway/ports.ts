/** What the gateway needs from the world. Adapters live in lib/redis, lib/providers and lib/wiring. */
import type { DeferredAnswer, DeferredFacts, DeferredRequest, DeferredState } from "@/lib/domain/deferred-call";
import type { JobMove } from "@/lib/domain/provider-job";
import type { ObjectOwner, StoredKind, StoredObject } from "@/lib/domain/stored-object";
import type { ApiKeyDocument, Enforcement, Environment, Meter, ProviderDocument } from "@/lib/domain/snapshot";
import type { RefusalEvent, TokenUsage } from "@/lib/domain/usage-event";
import type { TokenVerdict } from "@/lib/identity/verified-token";
import type { ByteStream } from "./byte-stream";
import type { OrganisationSnapshot } from "./organisation-view";

/** The snapshot, cached in process and as fresh as the last epoch this process saw. */
export interface PolicySource {
  /** The organisation as this process knows it; undefined where it does not exist. Throws StoreUnavailable where nothing is cached and the store is down. */
  organisation(organisationId: string): Promise<OrganisationSnapshot | undefined>;
  /** The key behind a hash; undefined where there is none. */
  apiKey(organisationId: string, hash: string): Promise<ApiKeyDocument | undefined>;
  /** Reads what changed since the cached epoch. Called when reserve answers stale. */
  catchUp(organisationId: string): Promise<void>;
}

/** Proves what is no key of ours; a verdict whatever the token is. Throws StoreUnavailable. */
export type VerifyToken = (token: string) => Promise<TokenVerdict>;

export interface KeyHasher {
  /** HMAC of the full key text, hex. */
  hash(apiKey: string): string;
}

export interface ReserveBudgetLine {
  readonly budgetId: string;
  readonly periodId: string;
  readonly meter: Meter;
  readonly enforcement: Enforcement;
  /** "basisPoints:plan,..." rising */
  readonly rungs: string;
  readonly overflowPlan: number | null;
  /** Of what a session may use, which is no budget: its limit, and for how long its counter outlives its last call. */
  readonly session?: { readonly limit: string; readonly idleMs: number };
  /** Of a budget of the provider or deployment that serves: whose it is. No stricter plan is taken for want of room on it. */
  readonly targetId?: string;
}

export interface ReserveRateLimit {
  readonly id: string;
  readonly requestsPerMinute: number | null;
  readonly burstRequests: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrency: number | null;
}

/**
 * UsageEventHead as JSON, in pieces: what is the same for all calls of one list of budgets is told the store once a batch.
 * Of plan p the head is opening + servings[p] + call + held[p] and a closing brace.
 */
export interface EventHead {
  readonly opening: string;
  readonly call: string;
  /** By plan; the same for all calls of one list of budgets, as `opening` is. */
  readonly servings: readonly string[];
  readonly held: readonly string[];
}

export function headText(head: EventHead, plan: number): string {
  return `${head.opening}${head.servings[plan] ?? ""}${head.call}${head.held[plan] ?? ""}}`;
}

/** An attempt that cost nothing, ended in the step that reserves the next. */
export interface PreviousAttempt {
  readonly reservationId: string;
  readonly resolution: "void" | "keep";
  /** As of a Settlement: of an attempt that was sent and failed, which the ledger is to know. Absent where nothing was sent. */
  readonly resultJson?: string;
}

export interface ReserveInput {
  readonly organisationId: string;
  readonly reservationId: string;
  readonly epoch: string;
  /** Span in which the period ids are right, [start, end) in Unix ms. */
  readonly windowStartMs: number;
  readonly windowEndMs: number;
  readonly budgets: readonly ReserveBudgetLine[];
  /** Per plan the amount for each budget (null: not charged), or "denied". */
  readonly plans: readonly (readonly (string | null)[] | "denied")[];
  readonly rateLimits: readonly ReserveRateLimit[];
  readonly askedTokens: number;
  readonly head: EventHead;
  readonly previous: PreviousAttempt | null;
  /** It is kept beyond this process, so it has to stand in the store, whether its budgets are enforced or not. */
  readonly isKept?: boolean;
}

export interface BudgetReading {
  /** Position in ReserveInput.budgets. */
  readonly budget: number;
  readonly settled: bigint;
  readonly held: bigint;
  readonly limit: bigint;
}

export interface BudgetBalance {
  readonly settled: bigint;
  readonly held: bigint;
  readonly limit: bigint;
  readonly overflow: bigint;
  readonly isFrozen: boolean;
}

export interface RateRefusal {
  readonly code: "rate";
  readonly denial: "rate_limit_exceeded" | "concurrency_limit_exceeded";
  readonly rateLimit: number;
  readonly retryAfterMs: number;
  readonly isLocal?: true;
}

export type ReserveOutcome =
  | {
      readonly code: "reserved";
      readonly plan: number;
      readonly rungBasisPoints: number;
      readonly binding: BudgetReading | null;
      readonly isOverflow: boolean;
      readonly nowMs: number;
      /** The store was not asked: the process itself counted the short windows, and nobody the rest. */
      readonly isLocal?: true;
    }
  | { readonly code: "stale" }
  | { readonly code: "fenced" }
  | { readonly code: "clock"; readonly nowMs: number }
  | { readonly code: "rung"; readonly plan: number; readonly rungBasisPoints: number; readonly binding: BudgetReading }
  | { readonly code: "exhausted"; readonly binding: BudgetReading }
  | { readonly code: "frozen"; readonly budget: number }
  | RateRefusal
  | { readonly code: "too_large"; readonly budget: number }
  | { readonly code: "unknown_budget"; readonly budget: number };

/** What an open reservation is to hold more, so that what it pays for may be passed on. */
export interface ExtendInput {
  readonly organisationId: string;
  readonly reservationId: string;
  readonly epoch: string;
  /** Of the reservation's extensions, from 1. One that may have been taken is asked for again unchanged. */
  readonly sequence: number;
  /** Those of the reserve, as they are enforced now. */
  readonly budgets: readonly ReserveBudgetLine[];
  /** By budget; null where it is not charged, "0" where it needs no more. */
  readonly amounts: readonly (string | null)[];
  /** UsageEventHead as JSON, with what is held then. */
  readonly headJson: string;
  readonly usage: TokenUsage;
}

export type ExtendOutcome =
  | { readonly code: "extended"; readonly isOverflow: boolean }
  | { readonly code: "stale" }
  | { readonly code: "fenced" }
  /** The reservation is not open any more. */
  | { readonly code: "ended" }
  | { readonly code: "exhausted"; readonly binding: BudgetReading }
  | { readonly code: "frozen" | "too_large" | "unknown_budget"; readonly budget: number };

export interface OpenReservation {
  readonly organisationId: string;
  readonly reservationId: string;
}

/** What a call came to: amounts as decimal integer texts, and what its end adds to the usage event. */
export interface Settlement {
  readonly cost: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of many calls that were held as one; 1 where absent. */
  readonly requests?: number | undefined;
  readonly priceCurrency: string;
  readonly priceAmount: string;
  /** UTC day of the reservation, for the book: 2026-01-31. */
  readonly day: string;
  /** The fields of UsageEvent beyond its head: JSON from the comma that follows the head to the closing brace. */
  readonly resultJson: string;
}

export interface BudgetLedger {
  reserve(input: ReserveInput): Promise<ReserveOutcome>;
  /** Raises what an open reservation holds, on every budget that it charges or on none. Throws StoreUnavailable. */
  extend(input: ExtendInput): Promise<ExtendOutcome>;
  /** Ends the reservation with what it cost. Resolves when the store has it, or when it is queued for a store that is away; never rejects. */
  settle(open: OpenReservation, settlement: Settlement): Promise<void>;
  /** Ends the reservation at no cost. Same promise as settle. */
  void(open: OpenReservation): Promise<void>;
  /**
   * Leaves a reservation that stands to the worker, which has been told of it: it is held for long from now on, forgotten here, and
   * takes no place of the limits of concurrency named. Resolves also where the store is away; never rejects.
   */
  handOver(open: OpenReservation, concurrencyLimitIds: readonly string[]): Promise<void>;
  /** What a stream has used so far; carried by the next renewal. */
  progress(open: OpenReservation, usage: TokenUsage): void;
  /** Takes one request from every request rate, or from none: what refuses it. Throws StoreUnavailable. */
  countRequest(organisationId: string, rateLimits: readonly ReserveRateLimit[]): Promise<RateRefusal | undefined>;
  /** Budgets as they stand now, grants of this moment in the limit. Throws StoreUnavailable. */
  read(organisationId: string, lines: readonly { budgetId: string; periodId: string }[]): Promise<BudgetBalance[]>;
  /** Notes a refused call for the console. Best effort, bounded. */
  refused(event: RefusalEvent): void;
}

/** An answer as the first caller got it. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A call that must not run twice. */
export interface CallClaim {
  readonly organisationId: string;
  /** Hexadecimal: of the caller and of the name it gave the call. */
  readonly id: string;
  /** Hexadecimal: of what is asked for. */
  readonly content: string;
  /** Of the call that has the claim. */
  readonly requestId: string;
}

export type ClaimOutcome =
  | { readonly code: "claimed" }
  /** The call with this name asks for something else. */
  | { readonly code: "mismatch" }
  /** Still running after the longest wait. */
  | { readonly code: "running" }
  | { readonly code: "kept"; readonly answer: KeptAnswer }
  | { readonly code: "not_kept" };

/** Who has which call, and what came of it. */
export interface CallClaims {
  /** The hash of parts, hexadecimal, for the members of a claim. */
  fingerprint(parts: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>): Promise<string>;
  /**
   * Claims the call, and renews the claim until it is ended or this process dies. Where another has it, waits for its end, for a
   * bounded time and until the signal. Throws StoreUnavailable.
   */
  claim(claim: CallClaim, signal: AbortSignal): Promise<ClaimOutcome>;
  /** Keeps the name taken for so long, whatever becomes of this process: of a call that may leave something behind. Never rejects. */
  pin(claim: CallClaim, pinnedMs: number): Promise<void>;
  /** Ends a claim of a call that was served: nobody runs it again for `keepMs`. Null: its answer is not kept. Never rejects. */
  keep(claim: CallClaim, answer: KeptAnswer | null, keepMs: number): Promise<void>;
  /** Frees the name of a call that was not served. Never rejects. */
  release(claim: CallClaim): Promise<void>;
  /** The longest body that is kept. */
  readonly maxBytes: number;
}

export interface DeferredView {
  readonly facts: DeferredFacts;
  readonly state: DeferredState;
  /** Why it failed; null where it did not. */
  readonly code: string | null;
  readonly answer: DeferredAnswer | null;
}

/** Calls taken for later. All throw StoreUnavailable. */
export interface DeferralStore {
  /** Hands the call over: when this resolves it will be run. */
  accept(organisationId: string, facts: DeferredFacts, request: DeferredRequest): Promise<void>;
  read(organisationId: string, id: string): Promise<DeferredView | undefined>;
  /** Cancels what has not begun; how it stands then. */
  cancel(organisationId: string, id: string, keepSeconds: number): Promise<DeferredState>;
}

export interface StoredPage {
  readonly objects: readonly StoredObject[];
  readonly hasMore: boolean;
}

/** Whose the files, batches and responses at providers are. All throw StoreUnavailable. */
export interface ObjectRegister {
  find(organisationId: string, kind: StoredKind, id: string): Promise<StoredObject | undefined>;
  /** An owner's own, newest first unless `order` says otherwise, those after the one named; undefined where that is not the owner's. */
  list(organisationId: string, owner: ObjectOwner, page: StoredPageQuery): Promise<StoredPage | undefined>;
  /** Notes objects, or how they stand now. */
  put(organisationId: string, objects: readonly StoredObject[]): Promise<void>;
  remove(organisationId: string, object: StoredObject): Promise<void>;
  /** Whether what a batch or a response cost stands in the ledger, so that nobody needs any more what it made. */
  isSettled(organisationId: string, jobId: string): Promise<boolean>;
  /** Tells the worker of a job, which keeps its reservation from then on, and notes the objects it has by then. */
  move(move: JobMove, objects: readonly StoredObject[]): Promise<void>;
}

export interface StoredPageQuery {
  readonly kind: StoredKind;
  readonly after: string | null;
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Of files; null for any. */
  readonly purpose: string | null;
}

/** The application that had an answer made, and the account that keeps it. */
export interface KeptAnswerOwner {
  readonly appId: string;
  readonly environment: Environment;
  readonly providerId: string;
}

/** Whose the answers are that providers keep, and their items; known for a bounded time. */
export interface AnswerOwners {
  /** Notes the owner of ids that are nobody's yet. Never rejects: what could not be noted cannot be continued. */
  note(organisationId: string, ids: readonly string[], owner: KeptAnswerOwner): Promise<void>;
  /** By id; undefined where nobody is known. Throws StoreUnavailable. */
  find(organisationId: string, ids: readonly string[]): Promise<readonly (KeptAnswerOwner | undefined)[]>;
}

/** A body that is not in memory: a form with its files in a spool. */
export interface StreamedBody {
  readonly contentLength: number;
  /** All bytes, from the beginning, each time. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface UpstreamRequest {
  readonly organisationId: string;
  readonly provider: ProviderDocument;
  /** POST unless given. */
  readonly method?: "GET" | "DELETE" | "POST";
  /** Path with query at the provider's origin. */
  readonly path: string;
  /** Not sent with GET and DELETE. */
  readonly body: Uint8Array | string | StreamedBody;
  /** Name, value, name, value: made for every call, read once. */
  readonly headers: readonly string[];
  /** From the last byte sent to the first byte of the answer. */
  readonly timeoutMs: number;
  /** For a new connection; the client's own where undefined. */
  readonly connectTimeoutMs?: number;
  /** Longest silence within the answer; the client's own where undefined. */
  readonly idleTimeoutMs?: number;
  /** From the first moment to the last byte of the answer, waiting for a slow reader included; unbounded where undefined. */
  readonly totalTimeoutMs?: number;
  /** Whether the answer is passed on as it comes; otherwise it is read whole before send resolves. */
  readonly isStream: boolean;
  /** Only where somebody may abort: watching a signal costs every call that does not need one. */
  readonly signal?: AbortSignal;
}

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The whole body. Throws UpstreamFailure. */
  bytes(): Promise<Uint8Array>;
  /** The body as it comes; fails with UpstreamFailure. To cancel it closes the connection. */
  readonly body: ByteStream;
}

/** `unserved`: the request provably never reached the model (no connection). `unknown`: it was sent and no answer came. */
export class UpstreamFailure extends Error {
  readonly reach: "unserved" | "unknown";
  readonly reason: "connect" | "timeout" | "closed" | "aborted";

  constructor(reach: "unserved" | "unknown", reason: UpstreamFailure["reason"], cause?: unknown) {
    super(`upstream ${reason}`, cause === undefined ? undefined : { cause });
    this.name = "UpstreamFailure";
    this.reach = reach;
    this.reason = reason;
  }
}

export interface ProviderClient {
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
}

/** How one kind of provider is spoken to: what differs between vendors and is no secret. */
export interface ProviderAdapter {
  /** Whose error codes and usage it has: the vendor of lib/routing and of the usage reader. */
  readonly vendor: string;
  /** Path at the provider's origin by the name of our route; undefined where it does not serve the route. */
  pathOf(provider: ProviderDocument, route: string, upstreamModel: string): string | undefined;
  /** What of a caller's headers goes on to a route, as name, value, name, value. */
  passedHeaders(route: string, get: (name: string) => string | null): readonly string[];
}

/** What of an upstream's headers comes back to the caller. */
export type AnswerHeaders = (headers: UpstreamResponse["headers"]) => Readonly<Record<string, string>>;

/** Says of a body which member names another upstream, a foreign key, or content at an address inside; null where none does. */
export type BodyGuard = (body: unknown) => { readonly param: string; readonly because: "target" | "url" } | null;

/** Input of a call, bounded without counting. What it is made of is the estimator's own matter. */
export interface InputBound {
  readonly bound: number;
}

export interface InputTokens {
  readonly tokens: number;
  /** What to hold. */
  readonly hold: number;
  readonly basis: "exact" | "counted" | "bound";
}

/** Counts input tokens where money is tight, and learns from what was settled. */
export interface TokenEstimator {
  estimate(call: {
    readonly shape:
      | "openai-chat"
      | "openai-responses"
      | "openai-completion"
      | "openai-embedding"
      | "anthropic-messages"
      | "gemini-contents";
    readonly body: unknown;
    readonly model: string;
    readonly providerKind: string | null;
    readonly contextTokens: number | null;
  }): InputBound;
  /** Never rejects; the bound where it cannot count in time. */
  count(estimate: InputBound): Promise<InputTokens>;
  settled(estimate: InputBound, counted: InputTokens | null, measuredTokens: number): void;
}

/** Signs the tag by which the provider's bill is matched to our ledger. */
export interface RequestTagger {
  tag(parts: { reservationId: string; organisationId: string; apiKeyId: string }): string;
}

/** The store cannot answer: hard budgets fail closed. */
export class StoreUnavailable extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 1000, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreUnavailable";
    this.retryAfterMs = retryAfterMs;
  }
}
