import { describe, expect, it } from "vitest";
import type { ByteSink, ByteStream } from "./byte-stream";
import { streamOfBytes, webStreamOf } from "./byte-stream";

/** Writes numbered bytes for as long as its sink has room, and never ends by itself. */
class Endless implements ByteStream {
  written = 0;
  isCancelled = false;
  private sink: ByteSink | undefined;

  start(sink: ByteSink): void {
    this.sink = sink;
    this.resume();
  }

  resume(): void {
    while (!this.isCancelled && this.sink?.write(new Uint8Array([this.written++])) === true);
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

describe("a stream for hosts that speak Web", () => {
  it("lets bytes come at the pace at which they are read, in order", async () => {
    const stream = new Endless();
    const reader = webStreamOf(stream).getReader();
    const read: (number | undefined)[] = [];
    for (let turn = 0; turn < 10; turn += 1) read.push((await reader.read()).value?.[0]);
    expect(read).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(stream.written).toBeLessThanOrEqual(12);
  });

  it("tells the stream where its reader has gone", async () => {
    const stream = new Endless();
    const reader = webStreamOf(stream).getReader();
    await reader.read();
    await reader.cancel();
    expect(stream.isCancelled).toBe(true);
  });

  it("fails where the stream breaks off", async () => {
    const broken: ByteStream = {
      start: (sink) => {
        sink.fail(new Error("broken"));
      },
      resume: () => undefined,
      cancel: () => undefined,
    };
    await expect(new Response(webStreamOf(broken)).text()).rejects.toThrow("broken");
  });

  it("ends after bytes that were there already", async () => {
    expect(await new Response(webStreamOf(streamOfBytes(new TextEncoder().encode("all")))).text()).toBe("all");
  });
});
