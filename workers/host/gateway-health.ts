/** Whether this gateway can do its work: which of what it needs is away, and nothing about why. */
import type { ServerResponse } from "node:http";
import type { HotConnection } from "@/lib/redis/client";
import { beforeDeadline, SNAPSHOT_DEADLINE_MS } from "@/lib/redis/deadline";
import { isPublished } from "@/lib/redis/publication";

/** Answered by every lean host; one without Next behind it answers /api/health likewise. */
export const GATEWAY_HEALTH_PATH = "/api/health/gateway";

interface GatewayChecks {
  readonly redis: "up" | "down";
  /** Missing: callers that this process has not met are told that it cannot tell who they are. */
  readonly snapshot: "published" | "missing" | "unknown";
}

async function check(connection: HotConnection): Promise<GatewayChecks> {
  if (connection.runId() === undefined) return { redis: "down", snapshot: "unknown" };
  try {
    const published = await beforeDeadline(isPublished(connection), SNAPSHOT_DEADLINE_MS);
    return { redis: "up", snapshot: published ? "published" : "missing" };
  } catch {
    return { redis: "down", snapshot: "unknown" };
  }
}

/** 200 where calls can be admitted, else 503. Postgres is not asked: a gateway does without. */
export async function answerGatewayHealth(connection: HotConnection, response: ServerResponse): Promise<void> {
  const checks = await check(connection);
  const ready = checks.redis === "up" && checks.snapshot === "published";
  response.writeHead(ready ? 200 : 503, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify({ live: true, ready, checks }));
}
