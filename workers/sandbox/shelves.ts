/** What the sandbox keeps between calls: uploaded files, batches, responses. The oldest goes when a shelf is full. */
import type { Buffer } from "node:buffer";

const MAX_KEPT = 1_000;

export class Shelf<Kept> {
  private readonly kept = new Map<string, Kept>();

  put(id: string, thing: Kept): void {
    this.kept.set(id, thing);
    const [oldest] = this.kept.keys();
    if (this.kept.size > MAX_KEPT && oldest !== undefined) this.kept.delete(oldest);
  }

  get(id: string): Kept | undefined {
    return this.kept.get(id);
  }

  delete(id: string): void {
    this.kept.delete(id);
  }

  /** Newest first. */
  all(): Kept[] {
    return [...this.kept.values()].reverse();
  }
}

export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly createdSeconds: number;
  readonly bytes: Buffer;
}

/** A thing that takes its time: how often it may still be read before it is done. */
export interface Unfinished {
  /** JSON as it is answered now. */
  json(): string;
  /** Counts one read. */
  poll(): void;
  cancel(): void;
}

export interface StoredBatch extends Unfinished {
  readonly id: string;
}

export interface StoredResponse extends Unfinished {
  readonly id: string;
  /** All tokens of the conversation so far, which the next response reads as input. */
  readonly contextTokens: number;
  /** What was asked, item by item. */
  readonly input: unknown;
  /** Its stream behind the event of that number, to its end: who listens waits for it. */
  events(after: number): string;
}

export class Shelves {
  readonly files = new Shelf<StoredFile>();
  readonly batches = new Shelf<StoredBatch>();
  readonly responses = new Shelf<StoredResponse>();
}
