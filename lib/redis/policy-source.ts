/**
 * PolicySource on Redis: the snapshot's documents per organisation, cached in this process, refreshed by pub/sub and
 * re-validated by epoch at every reserve and every heartbeat, so that a lost message heals within a second.
 */
import type { Redis } from "ioredis";
import type { z } from "zod";
import type { Clock } from "@/lib/domain/clock";
import { systemClock } from "@/lib/domain/clock";
import type { ApiKeyDocument, FxDocument, OrganisationDocument } from "@/lib/domain/snapshot";
import {
  apiKeyDocument,
  budgetDocument,
  consumerDocument,
  fxDocument,
  modelDocument,
  organisationDocument,
  policySnapshotDocument,
  providerDocument,
  rateLimitDocument,
  SNAPSHOT_FIELDS,
  tokenIssuerDocument,
} from "@/lib/domain/snapshot";
import type { OrganisationSnapshot } from "@/lib/gateway/organisation-view";
import type { PolicySource } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import { Absences } from "./absences";
import type { HotConnection } from "./client";
import { beforeDeadline, SNAPSHOT_DEADLINE_MS, STORE_DEADLINE_MS } from "./deadline";
import { CHANGE_CHANNEL_PATTERN, keysOf, organisationOfChannel, REMOVED_EPOCH } from "./keys";
import { isPublished } from "./publication";
import type { ScriptReply } from "./scripts";
import { numberAt, runScript, textAt } from "./scripts";

const MAX_ORGANISATIONS = 2_000;
const MAX_KEYS_PER_ORGANISATION = 50_000;
/** What does not exist is not asked for again so soon: short, since the message of its coming may be lost. */
const ABSENT = { keptMs: 1_000, max: 20_000 };

interface CachedOrganisation {
  epoch: string;
  readonly documents: Map<string, unknown>;
  snapshot: OrganisationSnapshot | undefined;
  readonly apiKeys: Map<string, ApiKeyDocument>;
  /** As they were before the whole was read again, until each is read anew: they stand in where the store cannot be asked. */
  readonly formerKeys: Map<string, ApiKeyDocument>;
  readonly absentKeys: Absences;
  /** Where a load began while another ran: one load serves all callers, a later one sees later changes. */
  loading: Promise<void> | undefined;
  /** The server may lack what was read from it, or have gone back: the next load is of the whole. */
  isSuspect: boolean;
}

const documentSchemas = {
  c: consumerDocument,
  b: budgetDocument,
  r: rateLimitDocument,
  p: policySnapshotDocument,
  m: modelDocument,
  v: providerDocument,
  t: tokenIssuerDocument,
} as const;
type DocumentLetter = keyof typeof documentSchemas;

function parseField(field: string, json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (field === SNAPSHOT_FIELDS.organisation) return organisationDocument.parse(value);
  if (field === SNAPSHOT_FIELDS.fx) return fxDocument.parse(value);
  const schema = documentSchemas[field.charAt(0) as DocumentLetter] as z.ZodType | undefined;
  return schema?.parse(value);
}

function snapshotOf(cached: CachedOrganisation): OrganisationSnapshot | undefined {
  const organisation = cached.documents.get(SNAPSHOT_FIELDS.organisation);
  if (organisation === undefined) return undefined;
  // Every document was parsed by the schema of its letter when it came in.
  const of = <Letter extends DocumentLetter>(letter: Letter): z.infer<(typeof documentSchemas)[Letter]>[] => {
    const list: z.infer<(typeof documentSchemas)[Letter]>[] = [];
    for (const [field, document] of cached.documents) {
      if (field.startsWith(`${letter}:`)) list.push(document as z.infer<(typeof documentSchemas)[Letter]>);
    }
    return list;
  };
  return {
    epoch: cached.epoch,
    documents: {
      organisation: organisation as OrganisationDocument,
      fx: (cached.documents.get(SNAPSHOT_FIELDS.fx) ?? []) as FxDocument,
      consumers: of("c"),
      budgets: of("b"),
      rateLimits: of("r"),
      policies: of("p"),
      models: of("m"),
      providers: of("v"),
      issuers: of("t"),
    },
  };
}

/**
 * A load reads what changed since the cached epoch; whole when nothing is cached. Of an organisation that has no epoch the server
 * has lost the snapshot: what this process has of it stands until it is published again.
 */
function apply(cached: CachedOrganisation, reply: ScriptReply): void {
  if (textAt(reply, 0) === "") {
    cached.isSuspect = true;
    return;
  }
  if (numberAt(reply, 2) === 1) {
    cached.documents.clear();
    for (const [hash, document] of cached.apiKeys) cached.formerKeys.set(hash, document);
    if (cached.formerKeys.size > MAX_KEYS_PER_ORGANISATION) cached.formerKeys.clear();
    cached.apiKeys.clear();
    cached.isSuspect = false;
  }
  for (let index = 3; index + 1 < reply.length; index += 2) {
    const field = textAt(reply, index);
    const json = textAt(reply, index + 1);
    if (field.startsWith("k:")) {
      cached.apiKeys.delete(field.slice(2));
      cached.formerKeys.delete(field.slice(2));
      cached.absentKeys.appeared(field.slice(2));
    } else if (json === "") cached.documents.delete(field);
    else cached.documents.set(field, parseField(field, json));
  }
  cached.epoch = textAt(reply, 0);
  // What was removed has no documents.
  cached.snapshot = cached.epoch === REMOVED_EPOCH ? undefined : snapshotOf(cached);
}

export class RedisPolicySource implements PolicySource {
  /** Those that exist: what a caller makes up never displaces them. */
  private readonly organisations = new Map<string, CachedOrganisation>();
  /** Those being read for the first time, so that callers who come together share one load. */
  private readonly arriving = new Map<string, CachedOrganisation>();
  private readonly absent: Absences;

  constructor(
    private readonly connection: HotConnection,
    private readonly subscriber: Redis,
    private readonly clock: Clock = systemClock,
  ) {
    this.absent = new Absences(clock, ABSENT);
    subscriber.on("pmessage", (_pattern: string, channel: string, epoch: string) => {
      const organisationId = organisationOfChannel(channel);
      if (organisationId !== undefined) this.sawEpoch(organisationId, epoch);
    });
    // The subscription is renewed by ioredis after a reconnect; until then heartbeats and reserves carry the epoch.
    subscriber.psubscribe(CHANGE_CHANNEL_PATTERN).catch(() => undefined);
  }

  async organisation(organisationId: string): Promise<OrganisationSnapshot | undefined> {
    const known = this.organisations.get(organisationId);
    if (known?.snapshot) return known.snapshot;
    if (this.absent.has(organisationId)) return undefined;
    await this.catchUp(organisationId);
    return this.organisations.get(organisationId)?.snapshot;
  }

  async catchUp(organisationId: string): Promise<void> {
    const cached = this.organisations.get(organisationId) ?? this.arrival(organisationId);
    try {
      await this.refresh(organisationId, cached);
    } finally {
      this.arriving.delete(organisationId);
    }
    if (cached.snapshot) this.keep(organisationId, cached);
    else {
      this.organisations.delete(organisationId);
      this.absent.note(organisationId);
    }
  }

  async apiKey(organisationId: string, hash: string): Promise<ApiKeyDocument | undefined> {
    const cached = this.organisations.get(organisationId);
    if (!cached) return undefined;
    const known = cached.apiKeys.get(hash);
    if (known) return known;
    if (cached.absentKeys.has(hash)) return undefined;
    const { epoch } = cached;
    const json = await this.readKey(organisationId, hash).catch((error: unknown) => {
      const former = cached.formerKeys.get(hash);
      if (former) return former;
      throw error;
    });
    if (typeof json === "object" && json !== null) return json;
    // Read before a change that was applied meanwhile: right for this call, not to be kept.
    const isCurrent = cached.epoch === epoch;
    if (isCurrent) cached.formerKeys.delete(hash);
    if (json === null) {
      if (isCurrent) cached.absentKeys.note(hash);
      return undefined;
    }
    const document = apiKeyDocument.parse(JSON.parse(json));
    if (isCurrent) {
      if (cached.apiKeys.size >= MAX_KEYS_PER_ORGANISATION) cached.apiKeys.clear();
      cached.apiKeys.set(hash, document);
    }
    return document;
  }

  /** A message or heartbeat named this epoch: catch up in the background if it is not ours. */
  sawEpoch(organisationId: string, epoch: string): void {
    const cached = this.organisations.get(organisationId);
    if (cached?.snapshot && cached.epoch !== epoch) void this.refresh(organisationId, cached).catch(() => undefined);
  }

  /** Redis was replaced: what is cached may be ahead of it, or all that is left. It serves until the whole has been read again. */
  suspect(organisationId: string): void {
    const cached = this.organisations.get(organisationId);
    if (!cached) return;
    // A load under way read from whichever server answered it.
    void Promise.resolve(cached.loading)
      .catch(() => undefined)
      .then(() => {
        cached.isSuspect = true;
        return this.refresh(organisationId, cached);
      })
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.subscriber.quit().catch(() => {
      this.subscriber.disconnect();
    });
  }

  private arrival(organisationId: string): CachedOrganisation {
    const known = this.arriving.get(organisationId);
    if (known) return known;
    const fresh: CachedOrganisation = {
      epoch: "",
      documents: new Map(),
      snapshot: undefined,
      apiKeys: new Map(),
      formerKeys: new Map(),
      absentKeys: new Absences(this.clock, ABSENT),
      loading: undefined,
      isSuspect: false,
    };
    this.arriving.set(organisationId, fresh);
    return fresh;
  }

  private keep(organisationId: string, cached: CachedOrganisation): void {
    if (this.organisations.has(organisationId)) return;
    if (this.organisations.size >= MAX_ORGANISATIONS) {
      const oldest = this.organisations.keys().next();
      if (!oldest.done) this.organisations.delete(oldest.value);
    }
    this.organisations.set(organisationId, cached);
  }

  /** The key's document; null where it has none. Throws StoreUnavailable, also where the snapshot itself is gone. */
  private async readKey(organisationId: string, hash: string): Promise<string | null> {
    const keys = keysOf(organisationId);
    const { redis } = this.connection;
    try {
      // In one step: what is lost or published in between would make the two contradict each other.
      const reading = redis.multi().hget(keys.apiKeys, hash).exists(keys.epoch).exec();
      const [[, json] = [], [, hasEpoch] = []] = (await beforeDeadline(reading, STORE_DEADLINE_MS)) ?? [];
      if (typeof json === "string") return json;
      if (hasEpoch !== 1) throw new Error("the keys of the organisation are lost");
      return null;
    } catch (error) {
      throw new StoreUnavailable("the key cannot be read", 1000, error);
    }
  }

  private async refresh(organisationId: string, cached: CachedOrganisation): Promise<void> {
    // A load under way may have read before the change that made us come here: wait for it, then read again.
    if (cached.loading) await cached.loading.catch(() => undefined);
    cached.loading ??= this.load(organisationId, cached).finally(() => {
      cached.loading = undefined;
    });
    await cached.loading;
  }

  private async load(organisationId: string, cached: CachedOrganisation): Promise<void> {
    const keys = keysOf(organisationId);
    try {
      const names = [keys.epoch, keys.changes, keys.snapshot, keys.generation];
      const { connection } = this;
      const reading = Promise.all([
        cached.snapshot ? false : isPublished(connection),
        runScript(connection.redis, "catchUp", names, [cached.isSuspect ? "" : cached.epoch]),
      ]);
      const [wasPublished, reply] = await beforeDeadline(reading, SNAPSHOT_DEADLINE_MS);
      if (!cached.snapshot && textAt(reply, 0) === "") {
        // What is not there does not exist if all that exists was there before and is after: nothing was lost or came in between.
        const isAbsent = textAt(reply, 1) === "" && wasPublished;
        if (!isAbsent || !(await beforeDeadline(isPublished(connection), STORE_DEADLINE_MS))) {
          throw new Error("the snapshot is lost");
        }
      }
      apply(cached, reply);
    } catch (error) {
      throw new StoreUnavailable("the snapshot cannot be read", 1000, error);
    }
  }
}
