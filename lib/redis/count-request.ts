/** One request of a call that is taken for later, counted by the request rates when it is taken (scripts/count-request-n.lua). */
import type { RateRefusal, ReserveRateLimit } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { beforeDeadline, STORE_DEADLINE_MS } from "./deadline";
import { keysOf } from "./keys";
import { requestRateWords, reserveOutcome } from "./reserve-command";
import { runScript } from "./scripts";

/** What refuses it, or nothing where it was taken from every rate. Throws StoreUnavailable. */
export async function countRequest(
  connection: HotConnection,
  organisationId: string,
  limits: readonly ReserveRateLimit[],
  nowMs: string,
): Promise<RateRefusal | undefined> {
  if (connection.runId() === undefined) throw new StoreUnavailable("no connection to the quota store");
  const ofRequests = limits.filter(({ requestsPerMinute }) => requestsPerMinute !== null);
  if (ofRequests.length === 0) return undefined;
  const keys = ofRequests.map(({ id }) => keysOf(organisationId).requestRate(id));
  const args = [nowMs, ...ofRequests.map((limit) => requestRateWords(limit).join(" "))];
  try {
    const reply = await beforeDeadline(runScript(connection.redis, "countRequest", keys, args), STORE_DEADLINE_MS);
    if (reply[0] === 0) return undefined;
    const outcome = reserveOutcome(reply);
    if (outcome.code === "rate") return outcome;
    throw new Error(`count-request-n answered ${outcome.code}`);
  } catch (error) {
    throw new StoreUnavailable("the quota store did not answer", 1000, error);
  }
}
