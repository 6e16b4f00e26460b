/** Prometheus metrics of a process. Labels are few and bounded: queue, job, result; organisations only where they are few. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export interface BookkeepingMetrics {
  readonly registry: Registry;
  readonly eventsBooked: Counter<"result">;
  readonly batchSeconds: Histogram;
  readonly streamLength: Gauge<"organisation">;
  readonly expired: Counter;
  readonly recoveries: Counter<"result">;
  readonly fenced: Gauge;
  readonly alerts: Counter<"kind">;
  readonly drift: Gauge<"organisation" | "currency">;
  readonly jobs: Counter<"job" | "result">;
  readonly jobSeconds: Histogram<"job">;
}

/** A registry of its own, so that two workers in one test process never share counts. */
export function createBookkeepingMetrics(): BookkeepingMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "spillway_worker_" });
  const registers = [registry];
  return {
    registry,
    eventsBooked: new Counter({
      name: "spillway_usage_events_total",
      help: "Usage events taken off the streams: inserted, corrected, repeated, dead",
      labelNames: ["result"],
      registers,
    }),
    batchSeconds: new Histogram({
      name: "spillway_settlement_batch_seconds",
      help: "Time to book one batch, commit included",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),
    streamLength: new Gauge({
      name: "spillway_usage_stream_length",
      help: "Usage events that do not stand in Postgres yet",
      labelNames: ["organisation"],
      registers,
    }),
    expired: new Counter({
      name: "spillway_reservations_expired_total",
      help: "Reservations ended by the sweep",
      registers,
    }),
    recoveries: new Counter({
      name: "spillway_recoveries_total",
      help: "Rebuilds of an organisation's counters",
      labelNames: ["result"],
      registers,
    }),
    fenced: new Gauge({ name: "spillway_fenced_organisations", help: "Organisations waiting for recovery", registers }),
    alerts: new Counter({ name: "spillway_alerts_total", help: "Alerts raised", labelNames: ["kind"], registers }),
    drift: new Gauge({
      name: "spillway_books_drift_nanos",
      help: "Largest difference between the three books at the last reconcile",
      labelNames: ["organisation", "currency"],
      registers,
    }),
    jobs: new Counter({ name: "spillway_jobs_total", help: "Jobs run", labelNames: ["job", "result"], registers }),
    jobSeconds: new Histogram({ name: "spillway_job_seconds", help: "Time of a job", labelNames: ["job"], registers }),
  };
}
