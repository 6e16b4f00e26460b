/** What every use case is handed. Built once per process by lib/wiring/control.ts, per request derived from there. */
import type { Db } from "@/lib/db/client";
import type { Clock } from "@/lib/domain/clock";
import type { PublisherRedis } from "@/lib/redis/snapshot-publisher";
import type { IdempotencyClaim } from "./idempotency";
import type { Outbound } from "./outbound";

export interface ControlDeps {
  readonly db: Db;
  readonly redis: PublisherRedis;
  readonly clock: Clock;
  /** 32 bytes; seals provider secrets and stored answers. */
  readonly masterKey: Buffer;
  /** 32 bytes; the HMAC key of API keys. */
  readonly pepper: Buffer;
  /** Addresses that people configure. */
  readonly outbound: Outbound;
  /** `false` leaves publishing to the caller, who makes many changes and publishes once. */
  readonly publishes?: boolean;
  /** Set by `withIdempotencyKey` for one write. */
  readonly idempotency?: IdempotencyClaim;
  /** Id of the HTTP request that asked, for the audit row. */
  readonly requestId?: string;
  /** Told when a change stands in the database but not yet in Redis; the outbox will bring it there. */
  readonly onPublishFailure?: (organisationId: string, error: unknown) => void;
}

/** What publishing takes. */
export type PublishDeps = Pick<ControlDeps, "db" | "redis" | "clock" | "publishes" | "onPublishFailure">;
