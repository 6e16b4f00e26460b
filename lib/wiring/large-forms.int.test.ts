/** A form of any size passes through with little memory: its file waits on disk, and is gone with the call. */
import { expect, it } from "vitest";
import { createGatewayCore } from "@/lib/gateway/handler";
import type { UpstreamRequest } from "@/lib/gateway/ports";
import { MODELS, SECRET, world } from "@/lib/gateway/testing/world";
import { openTemporarySpool } from "./temporary-spool";

const MEBIBYTE = 1024 * 1024;
const FILE_MEBIBYTES = 256;
/** What the collector has not taken yet counts, too. */
const MAX_KEPT_BYTES = 96 * MEBIBYTE;

/** As SDKs do it: the file first, and after it the model that says what it costs. */
async function* formOf(model: string): AsyncGenerator<Uint8Array> {
  const text = (part: string) => Buffer.from(part.replaceAll("\n", "\r\n"));
  yield text('--b\nContent-Disposition: form-data; name="file"; filename="a.mp3"\nContent-Type: audio/mpeg\n\n');
  for (let index = 0; index < FILE_MEBIBYTES; index += 1) yield await Promise.resolve(Buffer.alloc(MEBIBYTE, index));
  yield text(`\n--b\nContent-Disposition: form-data; name="model"\n\n${model}\n--b--\n`);
}

it("passes a file of 256 megabytes on without holding it", async () => {
  const model = MODELS.find(({ kind }) => kind === "transcription")?.name ?? "";
  const { deps, faults, ends } = world([
    {
      fails: null,
      status: 200,
      isEvents: false,
      breaksAt: null,
      text: '{"text":"x","usage":{"type":"duration","seconds":3}}',
    },
  ]);
  let sentBytes = 0;
  let peak = 0;
  const before = process.memoryUsage().arrayBuffers;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
  };
  const send = async (call: UpstreamRequest) => {
    if (typeof call.body !== "object" || !("chunks" in call.body)) throw new Error("the form is in memory");
    for await (const chunk of call.body.chunks()) {
      sentBytes += chunk.length;
      look();
    }
    expect(sentBytes).toBe(call.body.contentLength);
    return deps.providers.send({ ...call, body: "{}" });
  };
  const spools: ReturnType<typeof openTemporarySpool>[] = [];
  const openSpool = () => {
    const spool = openTemporarySpool();
    spools.push(spool);
    return {
      ...{ read: () => spool.read(), discard: () => spool.discard() },
      write: (chunk: Uint8Array) => {
        look();
        return spool.write(chunk);
      },
    };
  };
  const gateway = createGatewayCore({ ...deps, openSpool, maxFormBytes: 512 * MEBIBYTE, providers: { send } });
  const headers: Readonly<Record<string, string>> = {
    authorization: `Bearer ${SECRET}`,
    "content-type": "multipart/form-data; boundary=b",
  };
  const answer = await gateway(
    {
      ...{ method: "POST", url: "/v1/audio/transcriptions", headers: { get: (name) => headers[name] ?? null } },
      bytes: () => Promise.reject(new Error("nobody reads it whole")),
      ...{ chunks: () => formOf(model), signal: new AbortController().signal },
    },
    { waitUntil: () => undefined },
  );
  expect([answer.status, faults]).toEqual([200, []]);
  expect(sentBytes).toBeGreaterThan(FILE_MEBIBYTES * MEBIBYTE);
  expect(peak).toBeLessThan(MAX_KEPT_BYTES);
  expect([...ends.values()]).toEqual([1]);
  // What was spooled is gone.
  expect(spools).toHaveLength(1);
  const left: number[] = [];
  for await (const chunk of spools[0]?.read() ?? []) left.push(chunk.length);
  expect(left).toEqual([]);
});
