/** The whole request body, never more than the limit of it. */
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";

export async function readBodyWithin(request: Request, maxBytes: number): Promise<Uint8Array | Denial> {
  const declared = request.headers.get("content-length");
  const tooLarge = () => denial("request_too_large", { detail: `at most ${String(maxBytes)} bytes` });
  if (declared !== null) {
    // node:http refuses a body longer than it declares, so the declared length is a bound.
    if (!(Number(declared) <= maxBytes)) return tooLarge();
    return new Uint8Array(await request.arrayBuffer());
  }
  if (!request.body) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) return tooLarge();
    chunks.push(chunk);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}
