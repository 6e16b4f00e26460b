/** Streams side by side over bare connections: one way, as many slots as asked, one stream after another in each. */
import { setTimeout as delay } from "node:timers/promises";
import type { MeasuredProcess } from "../harness/measured-process";
import type { StreamMake } from "./contents";
import { requestFor } from "./contents";
import { RawClient } from "./raw-client";
import type { StreamRecord } from "./records";
import { createRecord, readSent } from "./records";

export interface Way {
  readonly name: string;
  /** Origin. */
  readonly url: string;
  readonly secret: string;
  /** Between provider and client. */
  readonly processes: readonly MeasuredProcess[];
}

export interface RoundShape {
  readonly slots: number;
  /** Streams of a slot; the first opens its connection and is not measured. */
  readonly streamsPerSlot: number;
  /** Between the first streams of two slots. */
  readonly startEveryMs: number;
  readonly makeOf: (index: number) => StreamMake;
}

export interface MadeStream {
  readonly record: StreamRecord;
  readonly make: StreamMake;
  readonly isMeasured: boolean;
}

/** Numbers of streams, never the same in a run. */
let nextId = 0;

/** Runs the shape to its end; resolves to all its streams. */
export async function runStreams(way: Way, shape: RoundShape): Promise<MadeStream[]> {
  const made: MadeStream[] = [];
  const slot = async (number: number): Promise<void> => {
    await delay(number * shape.startEveryMs);
    const client = new RawClient(way.url, way.secret);
    for (let turn = 0; turn < shape.streamsPerSlot; turn += 1) {
      const record = createRecord(nextId++);
      const make = shape.makeOf(made.length);
      made.push({ record, make, isMeasured: turn > 0 });
      await client.stream(record, requestFor(record.id, make));
    }
    client.close();
  };
  await Promise.all(Array.from({ length: shape.slots }, (_, number) => slot(number)));
  return made;
}

/** Asks the tap what passed of each. */
export async function addSent(streams: readonly MadeStream[], tapUrl: string): Promise<void> {
  for (const { record } of streams) record.sent = await readSent(tapUrl, record.id);
}

/** Events at the start and the end that come together with others, or are not passed on. */
const FIRST_EVENTS = 2;
const LAST_EVENTS = 3;

/** Milliseconds from the write of the request to the first byte of the body. */
export function firstByteTimes(streams: readonly MadeStream[]): number[] {
  return streams.filter((one) => one.isMeasured).map(({ record }) => record.firstMs - record.startedMs);
}

/** Milliseconds from the provider's side of the tap to the client, event by event. */
export function eventTimes(streams: readonly MadeStream[]): number[] {
  return streams.flatMap(({ record: { sent, got }, isMeasured }) => {
    if (!isMeasured) return [];
    const end = Math.min(sent.endedAt.length, got.endedAt.length) - LAST_EVENTS;
    return got.endedAt.slice(FIRST_EVENTS, end).map((at, index) => at - (sent.endedAt[index + FIRST_EVENTS] ?? at));
  });
}

/** Milliseconds between an event and the one before it, at the client. */
export function eventGaps(streams: readonly MadeStream[]): number[] {
  return streams.flatMap(({ record: { got }, isMeasured }) => {
    if (!isMeasured) return [];
    const times = got.endedAt.slice(FIRST_EVENTS, got.endedAt.length - LAST_EVENTS);
    return times.slice(1).map((at, index) => at - (times[index] ?? at));
  });
}

/** Processor milliseconds of each process and of this one while `work` runs. */
export async function withCpu<T>(
  processes: readonly MeasuredProcess[],
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpuMs: ReadonlyMap<string, number>; readonly seconds: number }> {
  const before = processes.map((one) => one.cpuMs());
  const own = process.cpuUsage();
  const startMs = performance.now();
  const result = await work();
  const { user, system } = process.cpuUsage(own);
  const cpuMs = new Map(processes.map((one, index) => [one.name, one.cpuMs() - (before[index] ?? 0)]));
  cpuMs.set("client", (user + system) / 1000);
  return { result, cpuMs, seconds: (performance.now() - startMs) / 1000 };
}
