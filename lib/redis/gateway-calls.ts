/**
 * The calls of one gateway process in Redis: delivers their ends, renews the open ones once a second, and tells a Redis
 * that lost its latest writes what this process knows, before anything is admitted there again.
 */
import type { Clock } from "@/lib/domain/clock";
import type { ExtendInput, OpenReservation, Settlement } from "@/lib/gateway/ports";
import { announceCommand } from "./announce-command";
import { announceCalls } from "./announcing";
import { JointBatch, PerOrganisation } from "./batch";
import type { HotConnection } from "./client";
import type { CallEnd, Concluded } from "./conclude-command";
import { concludeCommand, concludedOf } from "./conclude-command";
import { raisedAmounts } from "./extend-command";
import type { CallJournal } from "./journalled-calls";
import { JournalledCalls } from "./journalled-calls";
import { keysOf } from "./keys";
import type { OpenCall, OrganisationCalls, StreamPosition } from "./open-reservations";
import { createOrganisationCalls, forgetBooked, laterOf, rememberEnds, streamPosition } from "./open-reservations";
import { renewCommand } from "./renew-command";
import type { ScriptReply } from "./scripts";
import { numberAt, runScript, runTextScript, textAt } from "./scripts";

const HEARTBEAT_MS = 1_000;
/** An organisation without calls is still watched this long, so that its epoch and fence stay known. */
const ACTIVE_MS = 60_000;
/** Short scripts, a round trip each: whoever would reserve waits for one of them, not for the renewal of all. */
const RENEW_BATCH = 50;
const ANNOUNCED_TTL_SECONDS = 3_600;
export const MAX_ENDS = 128;
/**
 * How long an end waits for others where calls are many. Its answer has left by then: of a process that is killed in these
 * milliseconds the sweeper books the hold, and the provider's bill corrects it.
 */
const END_WAIT_MS = 10;

export interface GatewayCallsOptions {
  readonly connection: HotConnection;
  readonly gatewayId: string;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Time sent to the scripts in tests; "" for the server's own. */
  readonly scriptNowMs: () => string;
  /** Told the epoch seen by a heartbeat, so that the snapshot heals where a message was lost. */
  readonly onEpoch: (organisationId: string, epoch: string) => void;
  /** Told after an announcement: what is cached from the server before may be ahead of it. */
  readonly onNewServer: (organisationId: string) => void;
  /** Absent: what the store does not take waits in memory, and nothing passes without it. */
  readonly journal?: CallJournal | undefined;
  /** Usage events that may wait for the ledger; beyond that the organisation is served as if the store were away. */
  readonly maxWaiting?: number | undefined;
}

/** A reservation whose answer never came: only that it has to be voided is known. */
const UNKNOWN_CALL: OpenCall = {
  reservationId: "",
  counters: "",
  amounts: "",
  headJson: "",
  rungBasisPoints: 0,
  isOverflow: false,
  extension: 0,
  usageJson: "",
  end: undefined,
};

function endOf(call: OpenCall, withHead: boolean): CallEnd {
  const { reservationId, end, headJson } = call;
  return { reservationId, settlement: end?.settlement ?? null, lateHeadJson: withHead ? headJson : "" };
}

/** A settlement that found nothing open: nothing was written, since the script has no head to write it with. */
function isToComeAgain(call: OpenCall, { outcome, streamId }: Concluded): boolean {
  return outcome === "late" && streamId === "" && call.end?.settlement !== null;
}

export class GatewayCalls {
  private readonly organisations = new Map<string, OrganisationCalls>();
  private beating: Promise<void> | undefined;
  private readonly ends: PerOrganisation<JointBatch<OpenCall>>;
  private readonly journalled: JournalledCalls;
  /** The store's clock less this process's, as the last heartbeat saw them. */
  private storeAheadMs = 0;

  constructor(private readonly options: GatewayCallsOptions) {
    this.journalled = new JournalledCalls(options.journal);
    this.ends = new PerOrganisation(
      (organisationId) =>
        new JointBatch<OpenCall>(
          { maxItems: MAX_ENDS, waitMs: () => (this.isBusy(organisationId) ? END_WAIT_MS : 0) },
          (calls) => this.deliverOrKeep(organisationId, calls),
        ),
    );
  }

  private callsOf(organisationId: string): OrganisationCalls {
    const known = this.organisations.get(organisationId);
    if (known) return known;
    const fresh = createOrganisationCalls(this.options.connection.runId());
    this.organisations.set(organisationId, fresh);
    return fresh;
  }

  /** Watches the organisation from now on. False where so much of it waits for the ledger that nothing more may come. */
  touch(organisationId: string): boolean {
    const calls = this.callsOf(organisationId);
    calls.activeUntilMs = this.options.clock.nowMs() + ACTIVE_MS;
    return !calls.isOverfull;
  }

  /** Unix ms by the store's clock; by this process's own until the first heartbeat. */
  storeNowMs(): number {
    return this.options.clock.nowMs() + this.storeAheadMs;
  }

  /** Whether calls come so fast that waiting for company pays. */
  isBusy(organisationId: string): boolean {
    return this.organisations.get(organisationId)?.rush.isOn(this.options.clock.nowMs()) ?? false;
  }

  opened(organisationId: string, call: OpenCall): void {
    const calls = this.callsOf(organisationId);
    calls.rush.noteCall(this.options.clock.nowMs());
    calls.open.set(call.reservationId, call);
  }

  /** The store holds more for this call: an announcement must say so. */
  extended({ organisationId, reservationId, sequence, amounts, headJson }: ExtendInput, isOverflow: boolean): void {
    const call = this.organisations.get(organisationId)?.open.get(reservationId);
    if (!call || call.extension >= sequence) return;
    call.amounts = raisedAmounts(call.amounts, amounts);
    Object.assign(call, { headJson, isOverflow, extension: sequence });
  }

  /** Notes a call that passes without the store, on disk, before it is sent. False where that cannot be. */
  passed(organisationId: string, call: OpenCall): boolean {
    if (!this.journalled.note(organisationId, call)) return false;
    this.opened(organisationId, call);
    return true;
  }

  /** Forgets a running call, which another process keeps from now on. Undefined where it does not run here. */
  leave({ organisationId, reservationId }: OpenReservation): OpenCall | undefined {
    const open = this.organisations.get(organisationId)?.open;
    const call = open?.get(reservationId);
    if (!open || !call || call.end) return undefined;
    open.delete(reservationId);
    return call;
  }

  progress(open: OpenReservation, usageJson: string): void {
    const call = this.organisations.get(open.organisationId)?.open.get(open.reservationId);
    if (call) call.usageJson = usageJson;
  }

  /** Ends a call: the first end counts. Resolves when the store has it or when it waits for the next heartbeat. */
  end({ organisationId, reservationId }: OpenReservation, settlement: Settlement | null): Promise<void> {
    const { open } = this.callsOf(organisationId);
    let call = open.get(reservationId);
    if (!call) {
      call = { ...UNKNOWN_CALL, reservationId };
      open.set(reservationId, call);
    }
    if (call.end) return Promise.resolve();
    call.end = { settlement };
    if (this.journalled.has(reservationId)) this.journalled.noteEnd(organisationId, call);
    return this.ends.of(organisationId).add(call);
  }

  private async conclude(organisationId: string, ends: readonly CallEnd[]): Promise<Concluded[]> {
    const { connection } = this.options;
    const runId = connection.runId();
    if (runId === undefined) throw new Error("no connection to the quota store");
    const { keys, args } = concludeCommand(organisationId, ends, runId);
    const { booked, ends: concluded } = concludedOf(await runTextScript(connection.redis, "conclude", keys, args));
    const calls = this.callsOf(organisationId);
    // Stream ids of another server say nothing about this one's watermark.
    if (calls.server === runId) forgetBooked(calls, booked, this.options.clock.nowMs());
    return concluded;
  }

  /** Of one call: a settlement whose reservation has expired meanwhile goes once more, with its head. Throws what Redis throws. */
  private async concludeOne(organisationId: string, call: OpenCall): Promise<Concluded> {
    const [first] = await this.conclude(organisationId, [endOf(call, false)]);
    if (first && !isToComeAgain(call, first)) return first;
    const [second] = await this.conclude(organisationId, [endOf(call, true)]);
    if (!second) throw new Error("the script answered fewer calls than it was given");
    return second;
  }

  /** What the store does not take now is kept on disk, too: this process may be gone before it comes back. */
  private async deliverOrKeep(organisationId: string, calls: readonly OpenCall[]): Promise<void> {
    const { isOverfull, open } = this.callsOf(organisationId);
    const due = isOverfull ? calls.filter(({ reservationId }) => !this.journalled.has(reservationId)) : calls;
    if (due.length === 0) return;
    await this.deliver(organisationId, due).catch(() => undefined);
    for (const call of due) {
      if (open.has(call.reservationId) && !this.journalled.has(call.reservationId)) {
        this.journalled.noteEnd(organisationId, call);
      }
    }
  }

  /** Delivers ends. Throws what Redis throws; what it has not taken stays with us then, and while the organisation is fenced. */
  private async deliver(organisationId: string, calls: readonly OpenCall[]): Promise<void> {
    const late = await this.deliverOnce(organisationId, calls, false);
    if (late.length > 0) await this.deliverOnce(organisationId, late, true);
  }

  /** Returns the calls that are to come again with their heads. */
  private async deliverOnce(
    organisationId: string,
    calls: readonly OpenCall[],
    withHead: boolean,
  ): Promise<readonly OpenCall[]> {
    const concluded = await this.conclude(
      organisationId,
      calls.map((call) => endOf(call, withHead)),
    );
    const late: OpenCall[] = [];
    const taken: OpenCall[] = [];
    let streamId = "";
    let position: StreamPosition | undefined;
    for (const [index, call] of calls.entries()) {
      const one = concluded[index];
      if (!one || one.outcome === "fenced") continue;
      if (!withHead && isToComeAgain(call, one)) {
        late.push(call);
        continue;
      }
      taken.push(call);
      if (one.streamId === streamId) continue;
      streamId = one.streamId;
      position = laterOf(position, streamPosition(streamId));
    }
    this.remember(organisationId, taken, position);
    return late;
  }

  /** The store has these ends; the ledger may not. */
  private remember(organisationId: string, taken: readonly OpenCall[], position: StreamPosition | undefined): void {
    const sinceMs = this.options.clock.nowMs();
    const calls = this.callsOf(organisationId);
    const [settled, voided]: [OpenCall[], OpenCall[]] = [[], []];
    for (const call of taken) {
      calls.open.delete(call.reservationId);
      this.journalled.delivered(call.reservationId);
      // Of a call that is only remembered to be announced again, what the heartbeat carried is of no use.
      call.usageJson = "";
      (call.end?.settlement ? settled : voided).push(call);
    }
    // "Already settled" names no stream id: an earlier delivery's answer was lost. Wait for the watermark to pass now.
    const now = { ms: this.storeNowMs() + HEARTBEAT_MS, sequence: 0 };
    rememberEnds(calls, { calls: settled, position: position ?? now, sinceMs });
    rememberEnds(calls, { calls: voided, position: undefined, sinceMs });
  }

  /** Tells a server that may lack them of every call and of every end that may not be booked. Idempotent. */
  private async announce(organisationId: string, calls: OrganisationCalls, runId: string): Promise<void> {
    const { redis } = this.options.connection;
    await announceCalls(calls, {
      say: (call) => this.say(organisationId, call, runId),
      concludeOne: (call) => this.concludeOne(organisationId, call),
    });
    const announced = keysOf(organisationId).announced(runId);
    await redis.multi().sadd(announced, this.options.gatewayId).expire(announced, ANNOUNCED_TTL_SECONDS).exec();
    calls.server = runId;
    this.options.onNewServer(organisationId);
  }

  private say(organisationId: string, call: OpenCall, runId: string): Promise<ScriptReply> {
    const { connection, leaseMs } = this.options;
    const { keys, args } = announceCommand(organisationId, call, runId, this.storeNowMs() + leaseMs);
    return runScript(connection.redis, "announce", keys, args);
  }

  private renew(organisationId: string, batch: readonly OpenCall[]): Promise<ScriptReply> {
    const { connection, gatewayId, leaseMs, scriptNowMs } = this.options;
    const { keys, args } = renewCommand(organisationId, batch, { gatewayId, leaseMs, nowMs: scriptNowMs() });
    return runScript(connection.redis, "renew", keys, args);
  }

  private async beatOne(organisationId: string, calls: OrganisationCalls): Promise<void> {
    const runId = this.options.connection.runId();
    if (runId === undefined) return;
    // Ended ones, too, until the store has their end: under a long fence it would take them for those of a dead process.
    const held = this.deliverable(calls);
    const reply = await this.renew(organisationId, held.slice(0, RENEW_BATCH));
    for (let from = RENEW_BATCH; from < held.length; from += RENEW_BATCH) {
      await this.renew(organisationId, held.slice(from, from + RENEW_BATCH));
    }
    const [epoch, generation, booked] = [textAt(reply, 0), textAt(reply, 1), textAt(reply, 2)];
    this.storeAheadMs = numberAt(reply, 3) - this.options.clock.nowMs();
    // Before anything is forgotten: stream ids of another server say nothing about this one's watermark.
    const isFenced = generation !== runId;
    if (calls.server !== runId || (isFenced && !(await this.hasAnnounced(organisationId, runId)))) {
      await this.announce(organisationId, calls, runId);
    }
    forgetBooked(calls, booked, this.options.clock.nowMs());
    this.options.onEpoch(organisationId, epoch);
    calls.isOverfull = await this.isOverfull(organisationId);
    const ended = this.deliverable(calls).filter((call) => call.end);
    for (let from = 0; from < ended.length; from += MAX_ENDS) {
      await this.deliver(organisationId, ended.slice(from, from + MAX_ENDS));
    }
  }

  /** Without the ends that are on disk and have to wait because too much of the organisation waits for the ledger. */
  private deliverable({ open, isOverfull }: OrganisationCalls): OpenCall[] {
    const calls = [...open.values()];
    return isOverfull ? calls.filter((call) => !call.end || !this.journalled.has(call.reservationId)) : calls;
  }

  /** Asked of the store under every fence: it may have lost that, too. */
  private async hasAnnounced(organisationId: string, runId: string): Promise<boolean> {
    const { connection, gatewayId } = this.options;
    return (await connection.redis.sismember(keysOf(organisationId).announced(runId), gatewayId)) === 1;
  }

  private async isOverfull(organisationId: string): Promise<boolean> {
    const { connection, maxWaiting } = this.options;
    return maxWaiting !== undefined && (await connection.redis.xlen(keysOf(organisationId).usage)) > maxWaiting;
  }

  private async beatAll(): Promise<void> {
    for (const { organisationId, call } of await this.journalled.takeLeft(this.options.clock.nowMs())) {
      this.callsOf(organisationId).open.set(call.reservationId, call);
    }
    for (const [organisationId, calls] of this.organisations) {
      const isIdle = calls.open.size === 0 && calls.unbooked.length === 0;
      if (isIdle && this.options.clock.nowMs() > calls.activeUntilMs) this.organisations.delete(organisationId);
      // One organisation's trouble is not another's; what failed is tried again by the next beat.
      else await this.beatOne(organisationId, calls).catch(() => undefined);
    }
  }

  /** One round of renewals, announcements and deliveries; callers that come meanwhile share it. */
  heartbeat(): Promise<void> {
    this.beating ??= this.beatAll().finally(() => {
      this.beating = undefined;
    });
    return this.beating;
  }

  /** Beats once a second until the returned function is called. */
  start(): () => void {
    const timer = setInterval(() => {
      // Beside the round: a store that does not answer keeps that up.
      this.journalled.beat();
      void this.heartbeat();
    }, HEARTBEAT_MS);
    timer.unref();
    this.options.connection.onRunId(() => void this.heartbeat());
    return () => {
      clearInterval(timer);
    };
  }

  /** Takes this process out of the registers, so that a recovery need not wait for it. */
  async signOff(): Promise<void> {
    const { connection, gatewayId } = this.options;
    for (const organisationId of this.organisations.keys()) {
      await connection.redis.zrem(keysOf(organisationId).gateways, gatewayId).catch(() => undefined);
    }
    this.journalled.close();
  }

  counts(): { open: number; undelivered: number; unbooked: number } {
    const counts = { open: 0, undelivered: 0, unbooked: 0 };
    for (const calls of this.organisations.values()) {
      counts.unbooked += calls.unbookedCount;
      for (const call of calls.open.values()) {
        if (call.end) counts.undelivered += 1;
        else counts.open += 1;
      }
    }
    return counts;
  }
}
