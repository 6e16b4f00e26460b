/** BudgetLedger on Redis: one script a call before the upstream, one after it. What happens around them is GatewayCalls. */
import type { Clock } from "@/lib/domain/clock";
import { flatText } from "@/lib/domain/flat-text";
import type { BudgetLedger, ExtendInput, ExtendOutcome, ReserveInput, ReserveOutcome } from "@/lib/gateway/ports";
import type { OpenReservation, Settlement } from "@/lib/gateway/ports";
import { headText, StoreUnavailable } from "@/lib/gateway/ports";
import { readBalances } from "./balances";
import { Batch, PerOrganisation } from "./batch";
import type { HotConnection } from "./client";
import { countRequest } from "./count-request";
import { beforeDeadline, STORE_DEADLINE_MS } from "./deadline";
import { extendCommand, extendOutcome } from "./extend-command";
import { GatewayCalls } from "./gateway-calls";
import { handOverReservation } from "./hand-over";
import type { CallJournal } from "./journalled-calls";
import { keysOf } from "./keys";
import { LocalWindows } from "./local-windows";
import type { OpenCall } from "./open-reservations";
import { packedHold, reserveCommand, reserveOutcome, reserveWords } from "./reserve-command";
import type { ScriptReply } from "./scripts";
import { runScript } from "./scripts";

/** A lease outlives several missed heartbeats. */
export const LEASE_MS = 15_000;
const REFUSALS_KEPT = 20_000;
/** Longest batch of one script: a few milliseconds of Redis. */
const MAX_RESERVES = 64;
/** Result code of reserve-n.lua: another epoch stands there. */
const STALE = "2";
/** How long a reserve waits for others where calls are many; nothing beside an answer that takes a model's time. */
const RESERVE_WAIT_MS = 2;

export interface RedisBudgetLedger extends BudgetLedger {
  /** One round of renewals, deliveries and announcements. Runs by itself once a second; tests call it. */
  heartbeat(): Promise<void>;
  /** Delivers what is left and signs this process off. */
  close(): Promise<void>;
  /** Calls, ends not delivered and ends not booked that this process remembers. */
  counts(): { open: number; undelivered: number; unbooked: number };
}

export interface BudgetLedgerOptions {
  readonly connection: HotConnection;
  readonly gatewayId: string;
  readonly clock: Clock;
  readonly onEpoch?: (organisationId: string, epoch: string) => void;
  readonly onNewServer?: (organisationId: string) => void;
  readonly leaseMs?: number;
  /** Time sent to the scripts in tests; the server's own time otherwise. */
  readonly scriptNowMs?: () => string;
  /** false: heartbeats only when called. */
  readonly beats?: boolean;
  /** Where calls of soft budgets are noted while the store is away; absent: they are refused as all others. */
  readonly journal?: CallJournal | undefined;
  /** Usage events of an organisation that may wait for the ledger; beyond that it is served as if the store were away. */
  readonly maxWaiting?: number | undefined;
}

interface Parts {
  readonly connection: HotConnection;
  readonly calls: GatewayCalls;
  readonly reserves: PerOrganisation<Batch<ReserveInput, string>>;
  /** For calls that pass without the store. */
  readonly windows: LocalWindows;
}

function runIdOf(connection: HotConnection): string {
  const runId = connection.runId();
  if (runId === undefined) throw new StoreUnavailable("no connection to the quota store");
  return runId;
}

/** Whether nothing that the call charges is enforced: what it is asked for is to be counted, not to be refused. */
function isSoft({ budgets, plans: [mildest = "denied"], isKept }: ReserveInput): boolean {
  if (mildest === "denied" || isKept) return false;
  return budgets.every(({ enforcement }, index) => mildest[index] === null || enforcement !== "enforce");
}

// One literal: spreads are dear for every call.
function openCall(
  input: ReserveInput,
  taken: { readonly plan: number; readonly rungBasisPoints: number; readonly isOverflow: boolean },
): OpenCall {
  const { counters, amounts } = packedHold(input, taken.plan);
  return {
    reservationId: input.reservationId,
    counters,
    amounts: flatText(amounts),
    headJson: flatText(headText(input.head, taken.plan)),
    rungBasisPoints: taken.rungBasisPoints,
    isOverflow: taken.isOverflow,
    extension: 0,
    usageJson: "",
    end: undefined,
  };
}

/**
 * The call under its mildest plan, noted on disk instead of held, within what this process gives of its short windows; undefined
 * where it may not pass so.
 */
function passWithoutStore(input: ReserveInput, { calls, windows }: Parts): ReserveOutcome | undefined {
  const nowMs = calls.storeNowMs();
  if (nowMs < input.windowStartMs || nowMs >= input.windowEndMs || !isSoft(input)) return undefined;
  const refused = windows.take(input, nowMs);
  if (refused) return refused;
  const { organisationId } = input;
  const taken = { plan: 0, rungBasisPoints: 0, isOverflow: false };
  if (!calls.passed(organisationId, openCall(input, taken))) {
    windows.ended(input.reservationId, 0);
    return undefined;
  }
  return { code: "reserved", ...taken, binding: null, nowMs, isLocal: true };
}

/** Where the store is known to be away, or is to be spared. Throws StoreUnavailable. */
function reserveWithoutStore(input: ReserveInput, parts: Parts, why: string): ReserveOutcome {
  const nowMs = parts.calls.storeNowMs();
  if (isSoft(input) && (nowMs < input.windowStartMs || nowMs >= input.windowEndMs)) return { code: "clock", nowMs };
  const outcome = passWithoutStore(input, parts);
  if (outcome) return outcome;
  throw new StoreUnavailable(why);
}

/** The answer to an epoch where the store has none: it lost the snapshot, and with it perhaps the limits. */
function isSnapshotLost(words: ScriptReply): boolean {
  return words[0] === STALE && words[1] === "";
}

async function reserve(input: ReserveInput, parts: Parts): Promise<ReserveOutcome> {
  const { connection, calls, reserves } = parts;
  const { organisationId, reservationId } = input;
  const hasRoom = calls.touch(organisationId);
  if (connection.runId() === undefined) return reserveWithoutStore(input, parts, "no connection to the quota store");
  if (!hasRoom) return reserveWithoutStore(input, parts, "too much usage waits for the ledger");
  let words: ScriptReply;
  let outcome: ReserveOutcome;
  try {
    words = reserveWords(await reserves.of(organisationId).add(input));
    outcome = reserveOutcome(words);
  } catch (error) {
    // The hold may stand although its answer was lost: the end of the call finds it then, or that there was none.
    const passed = passWithoutStore(input, parts);
    if (passed?.code === "reserved") return passed;
    // Nothing will be sent: end it, so that it does not turn into a charge.
    void calls.end({ organisationId, reservationId }, null);
    if (passed) return passed;
    throw new StoreUnavailable("the quota store did not answer", 1000, error);
  }
  if (isSnapshotLost(words)) return reserveWithoutStore(input, parts, "the quota store has lost the snapshot");
  if (outcome.code === "fenced") return passWithoutStore(input, parts) ?? outcome;
  if (outcome.code === "reserved") {
    calls.opened(organisationId, openCall(input, outcome));
  }
  return outcome;
}

async function extend(input: ExtendInput, nowMs: string, { connection, calls }: Parts): Promise<ExtendOutcome> {
  const { keys, args } = extendCommand(input, runIdOf(connection), nowMs);
  try {
    const reply = await beforeDeadline(runScript(connection.redis, "extend", keys, args), STORE_DEADLINE_MS);
    const outcome = extendOutcome(reply);
    if (outcome.code === "extended") calls.extended(input, outcome.isOverflow);
    return outcome;
  } catch (error) {
    throw new StoreUnavailable("the quota store did not answer", 1000, error);
  }
}

function end(open: OpenReservation, settlement: Settlement | null, { calls, windows }: Parts): Promise<void> {
  windows.ended(open.reservationId, settlement === null ? 0 : settlement.inputTokens + settlement.outputTokens);
  return calls.end(open, settlement);
}

export function createBudgetLedger(options: BudgetLedgerOptions): RedisBudgetLedger {
  const { connection, clock, gatewayId } = options;
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const scriptNowMs = options.scriptNowMs ?? (() => "");
  const calls = new GatewayCalls({
    ...options,
    leaseMs,
    scriptNowMs,
    onEpoch: options.onEpoch ?? (() => undefined),
    onNewServer: options.onNewServer ?? (() => undefined),
  });
  const stop = options.beats === false ? () => undefined : calls.start();
  const run = async (inputs: readonly ReserveInput[]): Promise<readonly string[]> => {
    const { keys, args } = reserveCommand(inputs, runIdOf(connection), leaseMs, scriptNowMs());
    const answers = await beforeDeadline(runScript(connection.redis, "reserve", keys, args), STORE_DEADLINE_MS);
    return answers.map(String);
  };
  const reserves = new PerOrganisation((organisationId) => {
    const waitMs = () => (calls.isBusy(organisationId) ? RESERVE_WAIT_MS : 0);
    return new Batch<ReserveInput, string>({ maxItems: MAX_RESERVES, waitMs }, run);
  });
  const parts: Parts = { connection, calls, reserves, windows: new LocalWindows() };
  return {
    reserve: (input) => reserve(input, parts),
    extend: (input) => extend(input, scriptNowMs(), parts),
    settle: (open, settlement) => end(open, settlement, parts),
    void: (open) => end(open, null, parts),
    handOver: async (open, concurrencyLimitIds) => {
      // Left before the long lease is written: a heartbeat under way must not shorten it again.
      const call = calls.leave(open);
      if (!call) return;
      const registered = { gatewayId, nowMs: scriptNowMs() };
      await handOverReservation(connection, open.organisationId, call, concurrencyLimitIds, registered).catch(() => {
        calls.opened(open.organisationId, call);
      });
    },
    progress: (open, usage) => {
      calls.progress(open, JSON.stringify(usage));
    },
    countRequest: (organisationId, rateLimits) => countRequest(connection, organisationId, rateLimits, scriptNowMs()),
    read: (organisationId, lines) => {
      runIdOf(connection);
      return readBalances(connection.redis, organisationId, lines, clock.nowMs());
    },
    refused: (event) => {
      if (connection.runId() === undefined) return;
      const { refusals } = keysOf(event.organisationId);
      const { redis } = connection;
      redis.xadd(refusals, "MAXLEN", "~", REFUSALS_KEPT, "*", "e", JSON.stringify(event)).catch(() => undefined);
    },
    heartbeat: () => calls.heartbeat(),
    counts: () => calls.counts(),
    close: async () => {
      stop();
      await calls.heartbeat();
      await calls.signOff();
    },
  };
}
