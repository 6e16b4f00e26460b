/**
 * ProviderClient over undici: one keep-alive pool an origin, every connection guarded, every wait bounded, secrets added at
 * the last moment.
 */
import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { errors, request as undiciRequest } from "undici";
import type { ProviderDocument } from "@/lib/domain/snapshot";
import type { ProviderClient, UpstreamRequest, UpstreamResponse } from "@/lib/gateway/ports";
import { UpstreamFailure } from "@/lib/gateway/ports";
import { OutboundRefused } from "@/lib/net/guarded-connect";
import type { OutboundPolicy } from "@/lib/net/outbound-policy";
import { accountOf, keyHeaderOf } from "./adapters";
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
  if (error instanceof OutboundRefused || CONNECT_CODES.has(codeOf(error)))
    return new UpstreamFailure("unserved", "connect", error);
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

interface Sending {
  readonly agent: Agent;
  readonly origin: string;
  readonly path: string;
  readonly headers: string[];
  readonly secret: string | null;
  readonly idleTimeoutMs: number;
}

function bodyOf({ body }: UpstreamRequest): Uint8Array | string | Readable {
  return typeof body === "object" && "chunks" in body ? Readable.from(body.chunks(), { objectMode: false }) : body;
}

/** An error's text that repeats the key we sent is worth less than the key. */
function withoutSecret(status: number, bytes: Uint8Array, secret: string | null): Uint8Array {
  if (status < 400 || secret === null || secret === "") return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(secret) ? new Uint8Array(0) : bytes;
}

/** The answer as it comes. */
async function sendStream(call: UpstreamRequest, sending: Sending): Promise<UpstreamResponse> {
  try {
    const answer = await undiciRequest(`${sending.origin}${sending.path}`, {
      dispatcher: sending.agent,
      method: "POST",
      headers: sending.headers,
      body: bodyOf(call),
      ...(call.signal ? { signal: call.signal } : {}),
      headersTimeout: call.timeoutMs,
      bodyTimeout: sending.idleTimeoutMs,
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      bytes: async () =>
        withoutSecret(answer.statusCode, await bytesOf(answer.body, answer.headers["content-length"]), sending.secret),
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
}

/** Collects a whole answer without a stream in between, which costs more than everything else the client does. */
class WholeAnswer implements Dispatcher.DispatchHandler {
  private status = 0;
  private headers: UpstreamResponse["headers"] = {};
  private readonly chunks: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly secret: string | null,
    private readonly resolve: (answer: UpstreamResponse) => void,
    private readonly reject: (failure: UpstreamFailure) => void,
  ) {}

  onRequestStart(): void {
    // Nothing to set up: whole answers are not aborted.
  }

  onResponseStart(_controller: unknown, status: number, headers: UpstreamResponse["headers"]): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length > MAX_BODY_BYTES) controller.abort(new UpstreamFailure("unknown", "closed"));
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [only] = this.chunks;
    this.answer(only && this.chunks.length === 1 ? only : Buffer.concat(this.chunks, this.length));
  }

  onResponseError(_controller: unknown, error: Error): void {
    // An error is an error however its text breaks off: nothing was served.
    if (this.status >= 400) this.answer(new Uint8Array(0));
    else this.reject(failureOf(error));
  }

  private answer(whole: Uint8Array): void {
    const bytes = withoutSecret(this.status, whole, this.secret);
    this.resolve({
      status: this.status,
      headers: this.headers,
      bytes: () => Promise.resolve(bytes),
      chunks: async function* () {
        yield await Promise.resolve(bytes);
      },
      destroy: () => undefined,
    });
  }
}

function sendWhole(call: UpstreamRequest, sending: Sending): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    sending.agent.dispatch(
      {
        origin: sending.origin,
        path: sending.path,
        method: "POST",
        headers: sending.headers,
        body: bodyOf(call),
        headersTimeout: call.timeoutMs,
        bodyTimeout: sending.idleTimeoutMs,
      },
      new WholeAnswer(sending.secret, resolve, reject),
    );
  });
}

export function createHttpClient(options: HttpClientOptions): ProviderClient & { close(): Promise<void> } {
  const agents = new ConnectingAgents({
    outbound: options.outbound,
    connectTimeoutMs: options.connectTimeoutMs,
    connectionsPerOrigin: options.connectionsPerOrigin ?? 512,
  });
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
    return call.isStream ? sendStream(call, sending) : sendWhole(call, sending);
  };
  return { send, close: () => agents.destroy() };
}
