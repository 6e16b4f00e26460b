import { expect, it } from "vitest";
import type { ByteSink } from "../byte-stream";
import { GatedStream } from "./gated-stream";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A gate, what came out of it, and the hand that puts in. */
function gated(): { gate: GatedStream; seen: string[]; source: () => ByteSink; isCancelled: () => boolean } {
  let sink: ByteSink | undefined;
  let isCancelled = false;
  const gate = new GatedStream({
    start: (to) => {
      sink = to;
    },
    resume: () => undefined,
    cancel: () => {
      isCancelled = true;
    },
  });
  const seen: string[] = [];
  gate.start({
    write: (piece) => seen.push(new TextDecoder().decode(piece)) > 0,
    end: () => seen.push("end"),
    fail: (error) => seen.push(error.message),
  });
  const source = (): ByteSink => {
    if (!sink) throw new Error("not started");
    return sink;
  };
  return { gate, seen, source, isCancelled: () => isCancelled };
}

it("nothing passes before what is named has been noted, then everything in its order", async () => {
  const { gate, seen, source } = gated();
  let note: () => void = () => undefined;
  const noted = new Promise<void>((resolve) => {
    note = resolve;
  });
  gate.openAfter(noted);
  source().write(bytes("a"));
  source().write(bytes("b"));
  source().end();
  expect(seen).toEqual([]);
  note();
  await noted;
  expect(seen).toEqual(["a", "b", "end"]);
});

it("what could not be noted passes all the same", async () => {
  const { gate, seen, source } = gated();
  source().write(bytes("a"));
  const failed = Promise.reject(new Error("the store is away"));
  gate.openAfter(failed);
  await failed.catch(() => undefined);
  source().write(bytes("b"));
  source().fail(new Error("broken off"));
  expect(seen).toEqual(["a", "b", "broken off"]);
});

it("a stream that names nothing passes at its end, or when too much of it waits", () => {
  const short = gated();
  short.source().write(bytes("a"));
  short.source().end();
  expect(short.seen).toEqual(["a", "end"]);
  const long = gated();
  for (let piece = 0; piece < 64; piece += 1) long.source().write(bytes("x"));
  expect(long.seen).toHaveLength(64);
});

it("who has left hears nothing more", async () => {
  const { gate, seen, source, isCancelled } = gated();
  source().write(bytes("a"));
  gate.cancel();
  const noted = Promise.resolve();
  gate.openAfter(noted);
  await noted;
  expect([seen, isCancelled()]).toEqual([[], true]);
});
