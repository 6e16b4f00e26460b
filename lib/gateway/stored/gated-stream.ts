/** A stream that is kept back until what it names has been noted, so that its reader can ask for it as soon as he hears of it. */
import type { ByteSink, ByteStream } from "../byte-stream";

/** Pieces that are kept back at most: a stream that names nothing passes by then. */
const MAX_KEPT = 64;

export class GatedStream implements ByteStream, ByteSink {
  private sink: ByteSink | undefined;
  private kept: Uint8Array[] | undefined = [];
  private last: (() => void) | undefined;
  private isAwaiting = false;

  constructor(private readonly source: ByteStream) {}

  /** Opens when this is done, whatever comes of it. */
  openAfter(noted: Promise<unknown>): void {
    this.isAwaiting = true;
    const open = (): void => {
      this.open();
    };
    noted.then(open, open);
  }

  start(sink: ByteSink): void {
    this.sink = sink;
    this.source.start(this);
  }

  resume(): void {
    this.source.resume();
  }

  cancel(): void {
    this.sink = undefined;
    this.source.cancel();
  }

  write(bytes: Uint8Array): boolean {
    if (!this.kept) return this.sink?.write(bytes) ?? true;
    this.kept.push(bytes);
    if (this.kept.length >= MAX_KEPT) this.open();
    return true;
  }

  end(): void {
    this.finish(() => this.sink?.end());
  }

  fail(error: Error): void {
    this.finish(() => this.sink?.fail(error));
  }

  private finish(say: () => void): void {
    this.last = say;
    if (this.kept && this.isAwaiting) return;
    this.open();
    say();
  }

  private open(): void {
    const { kept } = this;
    if (!kept) return;
    this.kept = undefined;
    for (const bytes of kept) this.sink?.write(bytes);
    if (this.isAwaiting) this.last?.();
  }
}
