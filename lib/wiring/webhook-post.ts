/** Posts webhooks through the guard of lib/net. */
import type { WebhookDeps } from "@/lib/control/webhook-deliveries";
import { guardedAgent, OutboundRefused } from "@/lib/net/guarded-connect";
import { guardedRequest, OutboundFailure } from "@/lib/net/guarded-request";
import { outboundPolicy } from "@/lib/net/outbound-policy";

/** What receivers are usually given. */
const TIMEOUT_MS = 15_000;
/** Nothing of an answer is read but its status. */
const MAX_BYTES = 64 * 1024;

export interface WebhookPost {
  readonly post: WebhookDeps["post"];
  close(): Promise<void>;
}

/** `allow`: the operator's list. Throws where an entry is malformed. */
export function createWebhookPost(allow: readonly string[]): WebhookPost {
  const policy = outboundPolicy({ allow });
  const agent = guardedAgent({ policy, timeoutMs: TIMEOUT_MS, connectionsPerOrigin: 4, keepAliveMs: 1_000 });
  return {
    post: async (url, headers, body) => {
      try {
        const call = { url, method: "POST" as const, headers, body, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
        const { status } = await guardedRequest(call, { policy, agent });
        return { kind: "answer", status };
      } catch (error) {
        if (error instanceof OutboundRefused) return { kind: "refused" };
        if (!(error instanceof OutboundFailure)) throw error;
        return { kind: "failed", reason: error.reason };
      }
    },
    close: () => agent.close(),
  };
}
