/**
 * The settlement loop: drains every organisation's usage stream into the ledger. Not a BullMQ job, because one entry a
 * call must not become one job a call. Any number of processes may run it; a stream's entries are shared out by its group.
 */
import type { TouchedBudgets } from "@/lib/control/alerts";
import type { BookkeepingDeps } from "@/lib/control/bookkeeping";
import { applyCorrections, bookEntries } from "@/lib/control/settlement";
import type { StreamEntry } from "@/lib/redis/usage-stream";
import { claimUsage, ensureBookingGroup, isGroupMissing, readUsage, removeBooked } from "@/lib/redis/usage-stream";
import type { WaitingRedis } from "@/lib/redis/waiting-reads";
import type { BookkeepingMetrics } from "@/lib/telemetry/metrics";
import { pause } from "./pause";

export interface SettlementLoopOptions {
  readonly deps: BookkeepingDeps;
  readonly metrics: BookkeepingMetrics;
  /** A connection of its own: its reads wait. */
  readonly reader: WaitingRedis;
  /** Unique to the process. */
  readonly consumer: string;
  /** Ids of all organisations, from Postgres. */
  readonly listOrganisations: () => Promise<readonly string[]>;
  readonly touched: TouchedBudgets;
  /** Entries of one stream taken at once; each has the events of one script, 32 at most. */
  readonly batchSize?: number;
  /** How long a read waits for the first entry. */
  readonly blockMs?: number;
  /** How long another consumer may hold entries before they are taken over. */
  readonly idleMs?: number;
}

const DISCOVER_MS = 1_000;
const CLAIM_MS = 5_000;
const FAILURE_PAUSE_MS = 250;
// A reply holds every stream's batch at once; more streams than this are read in turns.
const STREAMS_A_READ = 64;
const DEFAULTS = { batchSize: 200, blockMs: 200, idleMs: 15_000 };
/** After a batch of fewer events: a moment for the next to grow. A transaction for three events costs nearly what one for three hundred does. */
const SMALL_BATCH = 500;
const LINGER_MS = 150;

export class SettlementLoop {
  private readonly options: SettlementLoopOptions & typeof DEFAULTS;
  private readonly stopping = new AbortController();
  private readonly hasGroup = new Set<string>();
  private organisations: readonly string[] = [];
  private discoveredMs = 0;
  private claimedMs = 0;
  private roundMs = 0;
  private offset = 0;
  private running: Promise<void> | undefined;

  constructor(options: SettlementLoopOptions) {
    this.options = { ...DEFAULTS, ...options };
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Stops reading, finishes the batch in hand and resolves. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Unix ms of the last round that went through; 0 before the first. For the health page. */
  lastRoundMs(): number {
    return this.roundMs;
  }

  private async run(): Promise<void> {
    let hasFailed = false;
    while (!this.stopping.signal.aborted) {
      try {
        // Entries this process took but could not book are still its own.
        if (hasFailed) await this.claim(0);
        hasFailed = false;
        await this.round();
      } catch (error) {
        hasFailed = true;
        // Redis may have lost the stream, or the server behind the connection is another: look at everything anew.
        this.hasGroup.clear();
        this.discoveredMs = 0;
        if (!isGroupMissing(error)) this.options.deps.log.warn({ err: error }, "settlement paused");
        await pause(FAILURE_PAUSE_MS, this.stopping.signal);
        await this.discover().catch(() => undefined);
      }
    }
  }

  private async round(): Promise<void> {
    const { deps, idleMs, reader, consumer, batchSize } = this.options;
    await this.discover();
    if (deps.clock.nowMs() - this.claimedMs >= CLAIM_MS) await this.claim(idleMs);
    if (this.organisations.length === 0) {
      await pause(this.options.blockMs, this.stopping.signal);
    } else {
      if (this.offset >= this.organisations.length) this.offset = 0;
      const some = this.organisations.slice(this.offset, this.offset + STREAMS_A_READ);
      this.offset += STREAMS_A_READ;
      const blockMs = some.length === this.organisations.length ? this.options.blockMs : 1;
      const readFrom = deps.store.runId();
      const batches = await readUsage(reader, consumer, some, { count: batchSize, blockMs });
      let taken = 0;
      for (const [organisationId, entries] of batches) {
        await this.book(organisationId, entries, readFrom);
        taken += entries.length;
      }
      if (taken > 0 && taken < SMALL_BATCH) await pause(LINGER_MS, this.stopping.signal);
    }
    this.roundMs = deps.clock.nowMs();
  }

  private async discover(): Promise<void> {
    const { deps, listOrganisations } = this.options;
    const nowMs = deps.clock.nowMs();
    if (nowMs - this.discoveredMs < DISCOVER_MS) return;
    this.organisations = await listOrganisations();
    for (const id of this.organisations) {
      if (this.hasGroup.has(id)) continue;
      await ensureBookingGroup(deps.store.redis, id);
      this.hasGroup.add(id);
    }
    this.discoveredMs = nowMs;
  }

  /** What a dead consumer left, and what this one failed to book. */
  private async claim(idleMs: number): Promise<void> {
    const { deps, consumer, batchSize } = this.options;
    for (const id of this.organisations) {
      for (;;) {
        const readFrom = deps.store.runId();
        const entries = await claimUsage(deps.store.redis, consumer, id, { count: batchSize, idleMs });
        await this.book(id, entries, readFrom);
        if (entries.length < batchSize || this.stopping.signal.aborted) break;
      }
    }
    this.claimedMs = deps.clock.nowMs();
  }

  private async book(
    organisationId: string,
    entries: readonly StreamEntry[],
    readFrom: string | undefined,
  ): Promise<void> {
    if (entries.length === 0) return;
    if (readFrom === undefined) throw new Error("it is not known which Redis the entries came from");
    const { deps, metrics, touched } = this.options;
    const endTimer = metrics.batchSeconds.startTimer();
    const result = await bookEntries(deps, organisationId, entries, readFrom);
    const ids = entries.map((entry) => entry.id);
    await removeBooked(deps.store.redis, organisationId, ids, result.dead);
    endTimer();
    touched.add(organisationId, result.touched);
    metrics.eventsBooked.inc({ result: "inserted" }, result.inserted);
    if (result.corrected > 0) metrics.eventsBooked.inc({ result: "corrected" }, result.corrected);
    if (result.dead.length > 0) {
      metrics.eventsBooked.inc({ result: "dead" }, result.dead.length);
      deps.log.error({ organisationId, dead: result.dead }, "usage events were set aside as dead letters");
    }
    if (result.needsApply) await applyCorrections(deps, organisationId);
  }
}
