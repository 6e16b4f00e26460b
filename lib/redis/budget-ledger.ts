/**
 * BudgetLedger on Redis. One script a call before the upstream, one after it. Everything this process has open is
 * renewed once a second in one batch per organisation; ends that could not be delivered are delivered again; and a
 * Redis that lost its latest writes is told what this process knows (announce), before anything is admitted again.
 */
import type { Clock } from "@/lib/domain/clock";
import type { TokenUsage } from "@/lib/domain/usage-event";
import type { BudgetLedger, OpenReservation, ReserveInput, ReserveOutcome, Settlement } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import type { OpenCall, OrganisationCalls } from "./open-reservations";
import { createOrganisationCalls, forgetBooked, rememberEnd } from "./open-reservations";
import { readBalances } from "./balances";
import { packedLines, reserveArguments, reserveKeys, reserveOutcome } from "./reserve-command";
import { numberAt, runScript, textAt } from "./scripts";

/** A lease outlives several missed heartbeats. */
export const LEASE_MS = 15_000;
const HEARTBEAT_MS = 1_000;
const REGISTRATION_MS = 6_000;
/** An organisation without calls is still watched this long, so that its epoch and fence stay known. */
const ACTIVE_MS = 60_000;
const REFUSALS_KEPT = 20_000;
const RENEW_BATCH = 500;

export interface RedisBudgetLedger extends BudgetLedger {
  /** One round of renewals, deliveries and announcements. Runs by itself once a second; tests call it. */
  heartbeat(): Promise<void>;
  /** Delivers what is left and signs this process off. */
  close(): Promise<void>;
  /** Calls, ends and organisations this process remembers. */
  counts(): { open: number; undelivered: number; unbooked: number };
}

export interface BudgetLedgerOptions {
  readonly connection: HotConnection;
  readonly gatewayId: string;
  readonly clock: Clock;
  /** Told the epoch seen by a heartbeat, so that the snapshot heals where a message was lost. */
  readonly onEpoch?: (organisationId: string, epoch: string) => void;
  /** Told after an announcement: what is cached from the server before may be ahead of it. */
  readonly onNewServer?: (organisationId: string) => void;
  readonly leaseMs?: number;
  /** Time sent to the scripts in tests; the server's own time otherwise. */
  readonly scriptNowMs?: () => string;
  readonly timers?: boolean;
}

function settleArguments(id: string, runId: string, settlement: Settlement): string[] {
  return [
    id,
    runId,
    settlement.cost,
    String(settlement.inputTokens),
    String(settlement.outputTokens),
    String(settlement.inputTokens + settlement.outputTokens),
    settlement.priceCurrency,
    settlement.priceAmount,
    settlement.eventJson,
  ];
}

export function createBudgetLedger(options: BudgetLedgerOptions): RedisBudgetLedger {
  const { connection, clock } = options;
  const { redis } = connection;
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const scriptNow = options.scriptNowMs ?? (() => "");
  const organisations = new Map<string, OrganisationCalls>();

  const callsOf = (organisationId: string): OrganisationCalls => {
    const known = organisations.get(organisationId);
    if (known) return known;
    const fresh = createOrganisationCalls();
    organisations.set(organisationId, fresh);
    return fresh;
  };

  const requireRunId = (): string => {
    const runId = connection.runId();
    if (runId === undefined) throw new StoreUnavailable("no connection to the quota store");
    return runId;
  };

  /** Sends one end. True when the store has it. */
  const deliver = async (organisationId: string, call: OpenCall): Promise<boolean> => {
    const runId = connection.runId();
    if (runId === undefined || !call.end) return false;
    const calls = callsOf(organisationId);
    const keys = keysOf(organisationId);
    const { settlement } = call.end;
    try {
      const reply = settlement
        ? await runScript(
            redis,
            "settle",
            [keys.reservation(call.reservationId), keys.generation, keys.deadlines, keys.usage, keys.book(settlement.day)],
            settleArguments(call.reservationId, runId, settlement),
          )
        : await runScript(
            redis,
            "void",
            [keys.reservation(call.reservationId), keys.generation, keys.deadlines],
            [call.reservationId, runId],
          );
      if (numberAt(reply, 0) === 3) return false;
      calls.open.delete(call.reservationId);
      const streamId = settlement ? textAt(reply, 1) : "";
      // "already settled" has no id: the first delivery's reply was lost; wait for the watermark to pass this instant.
      rememberEnd(calls, {
        reservationId: call.reservationId,
        settlement,
        streamId: settlement && streamId === "" ? `${String(clock.nowMs() + HEARTBEAT_MS)}-0` : streamId,
        sinceMs: clock.nowMs(),
      });
      return true;
    } catch {
      return false;
    }
  };

  const end = async (open: OpenReservation, settlement: Settlement | null): Promise<void> => {
    const calls = callsOf(open.organisationId);
    const call = calls.open.get(open.reservationId) ?? {
      reservationId: open.reservationId,
      lines: "",
      headJson: "",
      usageJson: "",
      end: undefined,
    };
    if (call.end) return;
    call.end = { settlement };
    calls.open.set(open.reservationId, call);
    await deliver(open.organisationId, call);
  };

  const reserve = async (input: ReserveInput): Promise<ReserveOutcome> => {
    const runId = requireRunId();
    const calls = callsOf(input.organisationId);
    calls.activeUntilMs = clock.nowMs() + ACTIVE_MS;
    try {
      const reply = await runScript(
        redis,
        "reserve",
        reserveKeys(input),
        reserveArguments(input, runId, leaseMs, scriptNow()),
      );
      const outcome = reserveOutcome(reply);
      if (outcome.code === "reserved") {
        calls.open.set(input.reservationId, {
          reservationId: input.reservationId,
          lines: packedLines(input, outcome.plan),
          headJson: input.headJson,
          usageJson: "",
          end: undefined,
        });
      }
      return outcome;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // The hold may stand although its answer was lost: end it, so that it does not turn into a charge.
      await end({ organisationId: input.organisationId, reservationId: input.reservationId }, null);
      throw new StoreUnavailable("the quota store did not answer", 1000, error);
    }
  };

  const announce = async (organisationId: string, calls: OrganisationCalls, runId: string): Promise<void> => {
    const keys = keysOf(organisationId);
    const deadline = String(clock.nowMs() + leaseMs);
    const say = async (id: string, state: string, call: OpenCall | undefined, settlement: Settlement | null) =>
      runScript(
        redis,
        "announce",
        [keys.reservation(id), keys.generation, keys.deadlines, keys.usage],
        [id, runId, state, deadline, call?.lines ?? "", call?.headJson ?? "", settlement?.eventJson ?? ""],
      );
    for (const call of [...calls.open.values()]) {
      const state = call.end ? (call.end.settlement ? "s" : "v") : "p";
      await say(call.reservationId, state, call, call.end?.settlement ?? null);
    }
    for (const ended of [...calls.unbooked.values()]) {
      const reply = await say(ended.reservationId, ended.settlement ? "s" : "v", undefined, ended.settlement);
      const streamId = textAt(reply, 1);
      if (streamId !== "") calls.unbooked.set(ended.reservationId, { ...ended, streamId });
    }
    await redis.multi().sadd(keys.announced(runId), options.gatewayId).expire(keys.announced(runId), 3600).exec();
    calls.announcedTo = runId;
    options.onNewServer?.(organisationId);
  };

  const renew = async (organisationId: string, calls: OrganisationCalls): Promise<void> => {
    const runId = connection.runId();
    if (runId === undefined) return;
    const keys = keysOf(organisationId);
    const running = [...calls.open.values()].filter((call) => !call.end);
    for (let from = 0; from === 0 || from < running.length; from += RENEW_BATCH) {
      const batch = running.slice(from, from + RENEW_BATCH);
      const reply = await runScript(
        redis,
        "renew",
        [
          keys.epoch,
          keys.generation,
          keys.booked,
          keys.gateways,
          keys.deadlines,
          ...batch.map((call) => keys.reservation(call.reservationId)),
        ],
        [
          options.gatewayId,
          scriptNow(),
          String(REGISTRATION_MS),
          String(leaseMs),
          ...batch.flatMap((call) => [call.reservationId, call.usageJson]),
        ],
      );
      if (from > 0) continue;
      forgetBooked(calls, textAt(reply, 2), clock.nowMs());
      if (textAt(reply, 1) !== runId && calls.announcedTo !== runId) await announce(organisationId, calls, runId);
      options.onEpoch?.(organisationId, textAt(reply, 0));
    }
    for (const call of [...calls.open.values()]) if (call.end) await deliver(organisationId, call);
  };

  let beating: Promise<void> | undefined;
  const beat = async (): Promise<void> => {
    for (const [organisationId, calls] of organisations) {
      const isIdle = calls.open.size === 0 && calls.unbooked.size === 0 && clock.nowMs() > calls.activeUntilMs;
      if (isIdle) organisations.delete(organisationId);
      // One organisation's trouble is not another's; what failed is tried again by the next beat.
      else await renew(organisationId, calls).catch(() => undefined);
    }
  };
  const heartbeat = (): Promise<void> => {
    beating ??= beat().finally(() => {
      beating = undefined;
    });
    return beating;
  };
  const timer = options.timers === false ? undefined : setInterval(() => void heartbeat(), HEARTBEAT_MS);
  timer?.unref();
  connection.onRunId(() => void heartbeat());

  return {
    reserve,
    heartbeat,
    settle: (open, settlement) => end(open, settlement),
    void: (open) => end(open, null),
    progress: (open, usage: TokenUsage) => {
      const call = organisations.get(open.organisationId)?.open.get(open.reservationId);
      if (call) call.usageJson = JSON.stringify(usage);
    },
    read: async (organisationId, lines) => {
      requireRunId();
      return readBalances(redis, organisationId, lines, clock.nowMs());
    },
    refused: (event) => {
      if (connection.runId() === undefined) return;
      const keys = keysOf(event.organisationId);
      redis
        .xadd(keys.refusals, "MAXLEN", "~", REFUSALS_KEPT, "*", "e", JSON.stringify(event))
        .catch(() => undefined);
    },
    counts: () => {
      let open = 0;
      let undelivered = 0;
      let unbooked = 0;
      for (const calls of organisations.values()) {
        unbooked += calls.unbooked.size;
        for (const call of calls.open.values()) {
          if (call.end) undelivered += 1;
          else open += 1;
        }
      }
      return { open, undelivered, unbooked };
    },
    close: async () => {
      if (timer) clearInterval(timer);
      await heartbeat();
      for (const organisationId of organisations.keys()) {
        await redis.zrem(keysOf(organisationId).gateways, options.gatewayId).catch(() => undefined);
      }
    },
  };
}
