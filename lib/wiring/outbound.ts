/** Guarded connections to addresses that people configure, for the control plane. */
import type { Outbound, OutboundAnswer } from "@/lib/control/outbound";
import { checkUrl } from "@/lib/net/check-url";
import type { UrlRefusal } from "@/lib/net/check-url";
import { guardedAgent, OutboundRefused } from "@/lib/net/guarded-connect";
import { guardedRequest, OutboundFailure } from "@/lib/net/guarded-request";
import { outboundPolicy } from "@/lib/net/outbound-policy";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 2 * 1024 * 1024;

/** The code under which a form is told of it: "url_link_local". */
export function urlRefusalCode(reason: UrlRefusal): string {
  return `url_${reason.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)}`;
}

/** `allow`: the operator's list. Throws where an entry is malformed: a list that says something else must stop the start. */
export function createOutbound(allow: readonly string[]): Outbound {
  const policy = outboundPolicy({ allow });
  const agent = guardedAgent({ policy, timeoutMs: TIMEOUT_MS, connectionsPerOrigin: 4, keepAliveMs: 1_000 });
  return {
    refusalOf: (url) => {
      const checked = checkUrl(url, policy);
      return checked.ok ? null : urlRefusalCode(checked.reason);
    },
    get: async (url, headers): Promise<OutboundAnswer> => {
      try {
        const call = { url, headers, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
        const { status, text } = await guardedRequest(call, { policy, agent });
        return { kind: "answer", status, text };
      } catch (error) {
        if (error instanceof OutboundRefused) {
          return { kind: "refused", code: urlRefusalCode(error.reason), message: error.message };
        }
        if (!(error instanceof OutboundFailure)) throw error;
        return { kind: "failed", reason: error.reason === "redirects" ? "closed" : error.reason };
      }
    },
  };
}
