/**
 * Stands before a streamed answer whose hold follows it: lets an event go on once what it makes is held, and tells the answer to
 * end where nothing more can be. What has come is counted as it comes, not as it goes on, and a client that reads slowly keeps
 * nobody from reading, so that the provider is never far ahead of the count. What a provider makes beyond that (between our
 * abort and its end, or with a megabyte unread here) is what the margin is for; where that is not enough it is still booked
 * in full, by the stream's own usage or by the provider's bill.
 */
import type { ByteSink, ByteStream } from "../byte-stream";
import type { RawEvent } from "../wire/sse";
import { SseSplitter } from "../wire/sse";
import type { CountingMeter } from "./meter";
import type { HoldRaiser } from "./raise-hold";

/** Read ahead of a client that takes no more. */
const MAX_AHEAD_BYTES = 1024 * 1024;

interface Counted {
  readonly event: RawEvent;
  /** Bytes of output that have come with it and before it. */
  readonly outputBytes: number;
}

export class CoveredBytes implements ByteStream, ByteSink {
  private readonly splitter = new SseSplitter();
  private readonly waiting: Counted[] = [];
  private answer: ByteSink | undefined;
  private isAsking = false;
  /** Nothing more is made: what was made is passed on and booked, whatever is held. */
  private isFree = false;
  private isOver = false;
  /** Said once all that waits has gone on. */
  private last: (() => void) | undefined;
  private aheadBytes = 0;

  constructor(
    private readonly upstream: ByteStream,
    /** Counts what has come. */
    readonly received: CountingMeter,
    private readonly raiser: HoldRaiser,
    private readonly shorten: () => void,
  ) {}

  start(answer: ByteSink): void {
    this.answer = answer;
    this.upstream.start(this);
  }

  resume(): void {
    this.aheadBytes = 0;
    this.upstream.resume();
  }

  cancel(): void {
    this.isOver = true;
    this.upstream.cancel();
  }

  write(piece: Uint8Array): boolean {
    if (this.isOver) return true;
    try {
      for (const event of this.splitter.push(piece)) this.take(event);
    } catch {
      this.fail(new RangeError("event too large"));
      return true;
    }
    this.release();
    return this.aheadBytes < MAX_AHEAD_BYTES;
  }

  end(): void {
    const rest = this.splitter.rest();
    if (rest) this.take(rest);
    this.last = () => this.answer?.end();
    this.release();
  }

  /** What waits was made and is counted; it is not passed on any more. */
  fail(error: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.answer?.fail(error);
  }

  private take(event: RawEvent): void {
    this.received.observe(event);
    this.waiting.push({ event, outputBytes: this.received.outputBytes });
  }

  private release(): void {
    while (!this.isOver && !this.isAsking) {
      const [next] = this.waiting;
      if (!next) break;
      if (!this.isFree && !this.raiser.mayPass(next.outputBytes)) {
        this.ask(next.outputBytes);
        return;
      }
      this.waiting.shift();
      const { bytes } = next.event;
      if (this.answer?.write(bytes) === false) this.aheadBytes += bytes.length;
    }
    if (this.isOver || this.isAsking || !this.last) return;
    this.isOver = true;
    this.last();
  }

  private ask(outputBytes: number): void {
    this.isAsking = true;
    void this.raiser.cover(outputBytes).then((isCovered) => {
      this.isAsking = false;
      if (this.isOver) return;
      this.isFree = this.last !== undefined;
      if (isCovered || this.isFree) this.release();
      else this.shorten();
    });
  }
}
