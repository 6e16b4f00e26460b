/**
 * What the gateway needs of a request and gives as an answer, without the weight of the Web classes: making a Request, its
 * Headers and a Response costs more than authenticating, deciding and metering together. `createGateway` wraps both for
 * hosts that speak Web; the lean host translates node:http directly.
 */
import type { ByteStream } from "./byte-stream";
import { isByteStream, webStreamOf } from "./byte-stream";

export interface GatewayRequest {
  readonly method: string;
  /** Absolute, or a path with query. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  /** The whole body, at most once. `too_large` where it exceeds the limit; the rest is not read then. */
  bytes(maxBytes: number): Promise<Uint8Array | "too_large">;
  /** The body as it comes, instead of `bytes`. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Aborted when the client leaves. Asked for only where somebody watches. */
  readonly signal: AbortSignal;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ByteStream;
}

/** Never more than `maxBytes` in memory, whatever the client declares. */
async function bytesOfWebRequest(request: Request, maxBytes: number): Promise<Uint8Array | "too_large"> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    // HTTP servers refuse a body longer than it declares, so the declared length is a bound.
    if (!(Number(declared) <= maxBytes)) return "too_large";
    return new Uint8Array(await request.arrayBuffer());
  }
  if (!request.body) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) return "too_large";
    chunks.push(chunk);
  }
  return joined(chunks, length);
}

export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export function fromWebRequest(request: Request): GatewayRequest {
  return {
    method: request.method,
    url: request.url,
    headers: request.headers,
    bytes: (maxBytes) => bytesOfWebRequest(request, maxBytes),
    chunks: () => (request.body ?? new Blob([]).stream()) as unknown as AsyncIterable<Uint8Array>,
    get signal() {
      return request.signal;
    },
  };
}

export function toWebResponse(answer: GatewayAnswer): Response {
  const { status, headers, body } = answer;
  return new Response(isByteStream(body) ? webStreamOf(body) : (body as BodyInit), { status, headers });
}

export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>>): GatewayAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}
