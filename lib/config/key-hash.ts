/** How API keys are stored and looked up: HMAC-SHA-256 under the installation's pepper, so a stolen table opens nothing. */
import { createHmac } from "node:crypto";

/** Lower-case hex of the HMAC. `pepper` is 32 bytes; the same pepper must be used by control plane and gateways. */
export function hashApiKey(pepper: Buffer, key: string): string {
  return createHmac("sha256", pepper).update(key, "utf8").digest("hex");
}
