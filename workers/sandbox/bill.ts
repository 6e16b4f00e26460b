/**
 * The sandbox's bill: one line for every call that was billed, in order, with exact totals per key and model.
 * Lines live in typed arrays of fixed segments (about 40 bytes a line plus its tag), because a load test writes
 * hundreds of thousands. When the limit is reached the oldest segment is dropped; totals always cover every call.
 */
import { costNanos, type Extras, MODELS, type SandboxModel, type TokenCounts } from "./prices";

export interface BillEntry extends TokenCounts {
  readonly receivedAtMs: number;
  /** Verbatim value of the caller's `x-spillway-request` header. */
  readonly requestTag: string | undefined;
  /** A label of the caller's key, never the key. */
  readonly key: string;
  readonly model: SandboxModel;
  /** The answer did not reach the client whole. */
  readonly aborted: boolean;
  readonly stream: boolean;
  readonly extras?: Extras | undefined;
}

export interface BillTotal {
  calls: number;
  promptTokens: number;
  completionTokens: number;
  amountNanos: bigint;
}

const SEGMENT_LINES = 16_384;
const DEFAULT_MAX_LINES = 2_000_000;
const ABORTED = 1;
const STREAM = 2;

class Segment {
  readonly receivedAtMs = new Float64Array(SEGMENT_LINES);
  readonly promptTokens = new Uint32Array(SEGMENT_LINES);
  readonly cachedTokens = new Uint32Array(SEGMENT_LINES);
  readonly completionTokens = new Uint32Array(SEGMENT_LINES);
  readonly amountNanos = new BigInt64Array(SEGMENT_LINES);
  readonly key = new Uint32Array(SEGMENT_LINES);
  readonly model = new Uint8Array(SEGMENT_LINES);
  readonly flags = new Uint8Array(SEGMENT_LINES);
  readonly tags: (string | undefined)[] = [];
  /** By slot; most calls have none. */
  readonly extras = new Map<number, Extras>();
}

export class Bill {
  private segments: Segment[] = [];
  private droppedLines = 0;
  private lines = 0;
  private keys: string[] = [];
  private keyIndexes = new Map<string, number>();
  /** By key index, then model index. */
  private sums: (BillTotal | undefined)[][] = [];

  constructor(
    private readonly maxLines = DEFAULT_MAX_LINES,
    readonly currency = "USD",
  ) {}

  /** Books one call and returns the sequence number of its line (the first is 1). */
  add(entry: BillEntry): number {
    const amountNanos = costNanos(entry.model, entry, entry.extras);
    const keyIndex = this.indexOfKey(entry.key);
    const modelIndex = entry.model.index;
    const slot = (this.lines - this.droppedLines) % SEGMENT_LINES;
    const segment = slot === 0 ? this.openSegment() : this.segments[this.segments.length - 1];
    if (segment === undefined) throw new Error("The bill has no open segment");
    segment.receivedAtMs[slot] = entry.receivedAtMs;
    segment.promptTokens[slot] = entry.promptTokens;
    segment.cachedTokens[slot] = entry.cachedTokens;
    segment.completionTokens[slot] = entry.completionTokens;
    segment.amountNanos[slot] = amountNanos;
    segment.key[slot] = keyIndex;
    segment.model[slot] = modelIndex;
    segment.flags[slot] = (entry.aborted ? ABORTED : 0) | (entry.stream ? STREAM : 0);
    segment.tags[slot] = entry.requestTag;
    if (entry.extras !== undefined) segment.extras.set(slot, entry.extras);
    this.lines += 1;
    this.addToTotal(keyIndex, modelIndex, entry, amountNanos);
    return this.lines;
  }

  /** JSON of the lines after `since`, at most `limit` of them, with totals of the whole bill. */
  page(since: number, limit: number): string {
    const first = Math.max(since, this.droppedLines);
    const end = Math.min(this.lines, first + limit);
    const lines: string[] = [];
    for (let index = first; index < end; index += 1) lines.push(this.line(index));
    const next = Math.max(end, Math.min(since, this.lines));
    return (
      `{"currency":"${this.currency}","firstSequence":${this.droppedLines + 1},"nextSequence":${next},` +
      `"hasMore":${next < this.lines},"lines":[${lines.join(",")}],"totals":${this.totals()}}`
    );
  }

  /** JSON of the totals: key label, then model id. Amounts are decimal strings of integer nanos. */
  totals(): string {
    const byKey: Record<string, Record<string, unknown>> = {};
    this.sums.forEach((byModel, keyIndex) => {
      const models: Record<string, unknown> = {};
      byModel.forEach((total, modelIndex) => {
        const id = MODELS[modelIndex]?.id;
        if (total !== undefined && id !== undefined) models[id] = { ...total, amountNanos: String(total.amountNanos) };
      });
      byKey[this.keys[keyIndex] ?? ""] = models;
    });
    return JSON.stringify(byKey);
  }

  reset(): void {
    this.segments = [];
    this.droppedLines = 0;
    this.lines = 0;
    this.keys = [];
    this.keyIndexes = new Map();
    this.sums = [];
  }

  private line(index: number): string {
    const position = index - this.droppedLines;
    const segment = this.segments[Math.floor(position / SEGMENT_LINES)];
    if (segment === undefined) throw new Error("The bill has lost a line");
    const slot = position % SEGMENT_LINES;
    const flags = segment.flags[slot] ?? 0;
    const extras = segment.extras.get(slot);
    return JSON.stringify({
      sequence: index + 1,
      receivedAt: new Date(segment.receivedAtMs[slot] ?? 0).toISOString(),
      requestTag: segment.tags[slot] ?? null,
      key: this.keys[segment.key[slot] ?? 0],
      model: MODELS[segment.model[slot] ?? 0]?.id,
      promptTokens: segment.promptTokens[slot],
      cachedTokens: segment.cachedTokens[slot],
      completionTokens: segment.completionTokens[slot],
      amountNanos: String(segment.amountNanos[slot]),
      aborted: (flags & ABORTED) !== 0,
      stream: (flags & STREAM) !== 0,
      ...(extras === undefined ? {} : { extras }),
    });
  }

  private openSegment(): Segment {
    if ((this.segments.length + 1) * SEGMENT_LINES > Math.max(this.maxLines, SEGMENT_LINES)) {
      this.segments.shift();
      this.droppedLines += SEGMENT_LINES;
    }
    const segment = new Segment();
    this.segments.push(segment);
    return segment;
  }

  private indexOfKey(key: string): number {
    const known = this.keyIndexes.get(key);
    if (known !== undefined) return known;
    const index = this.keys.length;
    this.keys.push(key);
    this.keyIndexes.set(key, index);
    this.sums.push([]);
    return index;
  }

  private addToTotal(keyIndex: number, modelIndex: number, counts: TokenCounts, amountNanos: bigint): void {
    const byModel = this.sums[keyIndex];
    if (byModel === undefined) throw new Error("The bill does not know the key");
    const total = (byModel[modelIndex] ??= { calls: 0, promptTokens: 0, completionTokens: 0, amountNanos: 0n });
    total.calls += 1;
    total.promptTokens += counts.promptTokens;
    total.completionTokens += counts.completionTokens;
    total.amountNanos += amountNanos;
  }
}
