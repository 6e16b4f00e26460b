/** ProviderClient over undici: one keep-alive pool an origin, every wait bounded, secrets added at the last moment. */
import type { Dispatcher } from "undici";
import { Agent, errors, request as undiciRequest } from "undici";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import type { ProviderClient, UpstreamRequest, UpstreamResponse } from "@/lib/gateway/ports";
import { UpstreamFailure } from "@/lib/gateway/ports";

export interface HttpClientOptions {
  /** Opens the provider's sealed secret; null where it has none. */
  readonly openSecret: (organisationId: string, provider: ProviderDocument) => string | null;
  readonly connectTimeoutMs?: number;
  readonly connectionsPerOrigin?: number;
  /** Longest silence within a body. */
  readonly idleTimeoutMs?: number;
}

/** Largest answer kept whole in memory. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

const CONNECT_CODES = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Only an error of connecting proves that the request was never sent. */
function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  if (CONNECT_CODES.has(codeOf(error))) return new UpstreamFailure("unserved", "connect", error);
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new UpstreamFailure("unknown", "timeout", error);
  }
  if (error instanceof Error && error.name === "AbortError") return new UpstreamFailure("unknown", "aborted", error);
  return new UpstreamFailure("unknown", "closed", error);
}

async function* chunksOf(body: Dispatcher.ResponseData["body"]): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw failureOf(error);
  }
}

async function bytesOf(
  body: Dispatcher.ResponseData["body"],
  declared: string | string[] | undefined,
): Promise<Uint8Array> {
  if (typeof declared === "string" && Number(declared) <= MAX_BODY_BYTES) {
    try {
      return await body.bytes();
    } catch (error) {
      throw failureOf(error);
    }
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunksOf(body)) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      body.destroy();
      throw new UpstreamFailure("unknown", "closed");
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts, length);
}

export function createHttpClient(options: HttpClientOptions): ProviderClient & { close(): Promise<void> } {
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? 512,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    connect: { timeout: options.connectTimeoutMs ?? 10_000 },
    maxRedirections: 0,
  } as Agent.Options);
  const send = async (call: UpstreamRequest): Promise<UpstreamResponse> => {
    const secret = options.openSecret(call.organisationId, call.provider);
    try {
      const answer = await undiciRequest(`${call.provider.baseUrl.replace(/\/+$/u, "")}${call.path}`, {
        dispatcher: agent,
        method: "POST",
        headers: secret === null ? call.headers : { ...call.headers, authorization: `Bearer ${secret}` },
        body: call.body,
        ...(call.signal ? { signal: call.signal } : {}),
        headersTimeout: call.timeoutMs,
        bodyTimeout: options.idleTimeoutMs ?? 120_000,
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        bytes: () => bytesOf(answer.body, answer.headers["content-length"]),
        chunks: () => chunksOf(answer.body),
        destroy: () => {
          // Destroying a body that is being read is an error to its reader, who has stopped listening.
          answer.body.on("error", () => undefined);
          answer.body.destroy();
        },
      };
    } catch (error) {
      throw failureOf(error);
    }
  };
  return { send, close: () => agent.destroy() };
}
