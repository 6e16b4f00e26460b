/**
 * Keeps the reservations of what providers work at in the quota store, as a gateway keeps those of its calls: renewed every second, told
 * to a server that lost them, ended once. What it keeps stands in Postgres, so that no restart loses it; every worker keeps all.
 */
import type { ProviderJob } from "@/lib/db/provider-jobs";
import type { Clock } from "@/lib/domain/clock";
import { newId } from "@/lib/domain/ids";
import { usageEventHead } from "@/lib/domain/usage-event";
import type { HotConnection } from "@/lib/redis/client";
import { settlementOfEvent } from "@/lib/redis/event-settlement";
import { GatewayCalls } from "@/lib/redis/gateway-calls";
import { KEPT_LEASE_MS } from "@/lib/redis/hand-over";

export class JobKeeper {
  private readonly calls: GatewayCalls;
  /** Organisations by the reservations kept. */
  private readonly kept = new Map<string, string>();

  constructor(store: HotConnection, clock: Clock) {
    this.calls = new GatewayCalls({
      ...{ connection: store, clock, gatewayId: newId("gw", clock.nowMs()), leaseMs: KEPT_LEASE_MS },
      ...{ scriptNowMs: () => "", onEpoch: () => undefined, onNewServer: () => undefined },
    });
  }

  /** Keeps the reservations of these jobs and of no other. */
  keep(jobs: readonly ProviderJob[]): void {
    const wanted = new Set<string>();
    for (const job of jobs) {
      const { reservationId, organisationId } = job.facts;
      wanted.add(reservationId);
      this.calls.touch(organisationId);
      if (this.kept.has(reservationId) || job.end) continue;
      if (this.open(job)) this.kept.set(reservationId, organisationId);
    }
    for (const [reservationId, organisationId] of this.kept) {
      if (wanted.has(reservationId)) continue;
      this.kept.delete(reservationId);
      this.calls.leave({ organisationId, reservationId });
    }
  }

  private open({ facts, hold }: ProviderJob): boolean {
    const { organisationId, reservationId } = facts;
    if (hold) {
      const running = { extension: 0, usageJson: "", end: undefined };
      this.calls.opened(organisationId, { reservationId, ...hold, ...running });
    }
    return hold !== null;
  }

  /** Ends the reservation with what the job came to. Safe to repeat. Resolves also while the store is away. */
  async end(job: ProviderJob): Promise<void> {
    const { organisationId, reservationId } = job.facts;
    // Opened anew: an end that was delivered before is forgotten here, and a late one needs the head.
    if (!job.hold || !this.open(job)) return;
    const result = job.end?.result ?? null;
    const settlement =
      result === null ? null : settlementOfEvent(usageEventHead.parse(JSON.parse(job.hold.headJson)), result);
    await this.calls.end({ organisationId, reservationId }, settlement);
  }

  /** One round of renewals and deliveries. Runs by itself once started; tests call it. */
  heartbeat(): Promise<void> {
    return this.calls.heartbeat();
  }

  /** Beats until the returned function is called, which delivers what is left. */
  start(): () => Promise<void> {
    const stop = this.calls.start();
    return async () => {
      stop();
      await this.calls.heartbeat();
      await this.calls.signOff();
    };
  }
}
