/**
 * ProviderClient over undici: one keep-alive pool an origin, every connection guarded, every wait bounded, secrets added at
 * the last moment.
 */
import { Readable } from "node:stream";
import type { Agent } from "undici";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import type { ProviderClient, UpstreamRequest, UpstreamResponse } from "@/lib/gateway/ports";
import type { OutboundPolicy } from "@/lib/net/outbound-policy";
import { accountOf, keyHeaderOf } from "./adapters";
import { StreamedAnswer, WholeAnswer } from "./answers";
import { CallDeadlines } from "./call-deadlines";
import { ConnectingAgents } from "./connecting";

export interface HttpClientOptions {
  /** Opens the provider's sealed secret; null where it has none. */
  readonly openSecret: (organisationId: string, provider: ProviderDocument) => string | null;
  /** Where this installation may connect to. */
  readonly outbound: OutboundPolicy;
  readonly connectTimeoutMs?: number;
  readonly connectionsPerOrigin?: number;
  /** Longest silence within a body. */
  readonly idleTimeoutMs?: number;
}

interface Sending {
  readonly agent: Agent;
  readonly origin: string;
  readonly path: string;
  readonly headers: string[];
  readonly secret: string | null;
  readonly idleTimeoutMs: number;
}

function bodyOf({ body, method = "POST" }: UpstreamRequest): Uint8Array | string | Readable | null {
  if (method !== "POST") return null;
  return typeof body === "object" && "chunks" in body ? Readable.from(body.chunks(), { objectMode: false }) : body;
}

function dispatch(
  call: UpstreamRequest,
  { agent, ...sending }: Sending,
  deadlines: CallDeadlines,
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const answer = call.isStream
      ? new StreamedAnswer(call.signal, sending.secret, resolve, reject, deadlines)
      : new WholeAnswer(sending.secret, resolve, reject, deadlines);
    if (call.totalTimeoutMs !== undefined) deadlines.add(answer, call.totalTimeoutMs);
    agent.dispatch(
      {
        origin: sending.origin,
        path: sending.path,
        method: call.method ?? "POST",
        headers: sending.headers,
        body: bodyOf(call),
        headersTimeout: call.timeoutMs,
        bodyTimeout: sending.idleTimeoutMs,
      },
      answer,
    );
  });
}

export function createHttpClient(options: HttpClientOptions): ProviderClient & { close(): Promise<void> } {
  const agents = new ConnectingAgents({
    outbound: options.outbound,
    connectTimeoutMs: options.connectTimeoutMs,
    connectionsPerOrigin: options.connectionsPerOrigin ?? 512,
  });
  const deadlines = new CallDeadlines();
  const send = (call: UpstreamRequest): Promise<UpstreamResponse> => {
    const secret = options.openSecret(call.organisationId, call.provider);
    const headers = [...call.headers];
    if (secret !== null) {
      const { name, scheme } = keyHeaderOf(call.provider.kind, call.path);
      headers.push(name, `${scheme}${secret}`);
    }
    const sending: Sending = {
      agent: agents.of(call.connectTimeoutMs),
      origin: accountOf(call.provider).origin,
      path: call.path,
      headers,
      secret,
      idleTimeoutMs: call.idleTimeoutMs ?? options.idleTimeoutMs ?? 120_000,
    };
    return dispatch(call, sending, deadlines);
  };
  return { send, close: () => agents.destroy() };
}
