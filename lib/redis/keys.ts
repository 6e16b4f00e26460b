/**
 * Every Redis key is built here. `{organisationId}` is the hash tag, so that all of an organisation's keys live in one
 * slot and one script may touch them together. Organisation ids are lower-case letters and digits (checked), so no id
 * can break out of the tag. Ids from callers never become part of a key.
 */
import { invariant } from "@/lib/domain/fault";

const ORGANISATION_ID = /^[a-z0-9]{4,32}$/u;

function tag(organisationId: string): string {
  invariant(ORGANISATION_ID.test(organisationId), "organisation id is 4 to 32 lower-case letters and digits");
  return `sw:{${organisationId}}:`;
}

export interface OrganisationKeys {
  readonly prefix: string;
  /** string: version of the newest snapshot; a number from Postgres, so it never runs backwards for good */
  readonly epoch: string;
  /** string: run id of the Redis server that the counters were proved on; another run id means fenced */
  readonly generation: string;
  /** hash: snapshot field -> JSON document */
  readonly snapshot: string;
  /** hash: HMAC of an API key -> JSON document */
  readonly apiKeys: string;
  /** sorted set: snapshot field by the epoch of its last change */
  readonly changes: string;
  /** pub/sub channel: the new epoch as text */
  readonly channel: string;
  /** sorted set: reservation id by deadline in Redis ms */
  readonly deadlines: string;
  /** stream of UsageEvent */
  readonly usage: string;
  /** stream of usage events that the ledger could not take: fields of the event, why, and its id */
  readonly deadUsage: string;
  /** stream of RefusalEvent, capped */
  readonly refusals: string;
  /** string: last counterSequence of the ledger whose lines were added to the counters */
  readonly appliedSequence: string;
  /** string: id of the last usage-stream entry that stands in Postgres */
  readonly booked: string;
  /** sorted set: gateway process id by registration end in Redis ms */
  readonly gateways: string;
  /** set: gateway process ids that announced under the current fence; value names the run id */
  readonly announced: (runId: string) => string;
  /** hash: s settled, h held */
  readonly counter: (budgetId: string, periodId: string) => string;
  /** hash as a counter's, gone some time after the session's last call; `sessionId` is a hash (lib/gateway/session-call.ts) */
  readonly session: (sessionId: string, meter: string) => string;
  /** hash: l limit, o overflow, f frozen, g:<periodId> grants "amount,startsMs,endsMs;..." */
  readonly limit: (budgetId: string) => string;
  /** string: one reservation, as scripts/includes/reservation.lua lays it out */
  readonly reservation: (reservationId: string) => string;
  /** string: GCRA theoretical arrival time in Redis ms with fraction */
  readonly requestRate: (rateLimitId: string) => string;
  /** hash: b balance in tokens, t Redis ms of it */
  readonly tokenRate: (rateLimitId: string) => string;
  /** sorted set: reservation id by lease end */
  readonly concurrency: (rateLimitId: string) => string;
  /** hash by UTC day: price currency -> settled nanos; the Redis side of the three books */
  readonly book: (day: string) => string;
  /** hash: a call that must not run twice (scripts/claim-call-1.lua); `hash` is hexadecimal */
  readonly claim: (hash: string) => string;
  /** stream of calls taken for later, on their way to Postgres: m facts, r sealed request */
  readonly deferrals: string;
  /** hash: how such a call stands (scripts/move-deferred-1.lua) */
  readonly deferred: (deferredId: string) => string;
  /** string: app, environment and provider of an answer that the provider keeps; `hash` is hexadecimal */
  readonly answerOwner: (hash: string) => string;
  /** hash: kind and provider's id of a file or batch -> StoredObject, `settled:` and id of a batch -> 1 */
  readonly stored: string;
  /** sorted set: ids of one owner's files or batches by time */
  readonly storedIndex: (kind: string, environment: string, appId: string) => string;
  /** stream of what gateways note of files and batches, on its way to Postgres: k kind of note, v JSON */
  readonly storedNotes: string;
  /** string: run id of the server on which the register of files and batches was last written whole */
  readonly storedGeneration: string;
}

const MAX_CACHED = 10_000;
const cache = new Map<string, OrganisationKeys>();

function build(organisationId: string): OrganisationKeys {
  const prefix = tag(organisationId);
  return {
    prefix,
    epoch: `${prefix}epoch`,
    generation: `${prefix}generation`,
    snapshot: `${prefix}snapshot`,
    apiKeys: `${prefix}keys`,
    changes: `${prefix}changes`,
    channel: `${prefix}changed`,
    deadlines: `${prefix}deadlines`,
    usage: `${prefix}usage`,
    deadUsage: `${prefix}usage-dead`,
    refusals: `${prefix}refusals`,
    appliedSequence: `${prefix}applied`,
    booked: `${prefix}booked`,
    gateways: `${prefix}gateways`,
    announced: (runId) => `${prefix}announced:${runId}`,
    counter: (budgetId, periodId) => `${prefix}c:${budgetId}:${periodId}`,
    session: (sessionId, meter) => `${prefix}ses:${sessionId}:${meter}`,
    limit: (budgetId) => `${prefix}l:${budgetId}`,
    reservation: (reservationId) => `${prefix}r:${reservationId}`,
    requestRate: (rateLimitId) => `${prefix}rpm:${rateLimitId}`,
    tokenRate: (rateLimitId) => `${prefix}tpm:${rateLimitId}`,
    concurrency: (rateLimitId) => `${prefix}cc:${rateLimitId}`,
    book: (day) => `${prefix}book:${day}`,
    claim: (hash) => `${prefix}once:${hash}`,
    deferrals: `${prefix}deferrals`,
    deferred: (deferredId) => `${prefix}deferred:${deferredId}`,
    answerOwner: (hash) => `${prefix}answer:${hash}`,
    stored: `${prefix}stored`,
    storedIndex: (kind, environment, appId) => `${prefix}stored:${kind}:${environment}:${appId}`,
    storedNotes: `${prefix}stored-notes`,
    storedGeneration: `${prefix}stored-generation`,
  };
}

export function keysOf(organisationId: string): OrganisationKeys {
  const known = cache.get(organisationId);
  if (known) return known;
  if (cache.size >= MAX_CACHED) cache.clear();
  const keys = build(organisationId);
  cache.set(organisationId, keys);
  return keys;
}

/** The epoch of an organisation that was removed: before any that is published, and no absence, which would mean that data was lost. */
export const REMOVED_EPOCH = "0";

/** hash: issuer id -> JSON of its organisation, `iss` and token prefix; belongs to no organisation (issuer-index.ts) */
export const ISSUER_INDEX = "sw:issuers";

/** hash: id of the data, and that every organisation stands in it; belongs to no organisation (publication.ts) */
export const PUBLICATION = "sw:publication";

/** Pattern subscription that hears every organisation's changes. */
export const CHANGE_CHANNEL_PATTERN = "sw:{*}:changed";

export function organisationOfChannel(channel: string): string | undefined {
  return /^sw:\{([a-z0-9]+)\}:changed$/u.exec(channel)?.[1];
}

/** Failed sign-ins of a window: a number. `hash` is hexadecimal; these keys belong to no organisation. */
export function signInKey(kind: "pair" | "account" | "address", hash: string): string {
  invariant(/^[0-9a-f]{16,64}$/u.test(hash), "a sign-in key holds a hash");
  return `sw:signin:${kind}:${hash}`;
}
