/** Bytes of one file: in memory while they are few, in a spool from there on. */
import type { OpenSpool, Spool } from "./form";

const HEAD_BYTES = 4096;

export class FileStore {
  bytes = 0;
  /** The first bytes. */
  head: Uint8Array = new Uint8Array(0);
  private chunks: Uint8Array[] = [];
  private spool: Spool | undefined;

  constructor(
    private readonly memoryBytes: number,
    private readonly openSpool: OpenSpool,
  ) {}

  async add(chunk: Uint8Array): Promise<void> {
    this.takeHead(chunk);
    this.bytes += chunk.length;
    if (!this.spool && this.bytes <= this.memoryBytes) {
      this.chunks.push(chunk);
      return;
    }
    if (!this.spool) {
      this.spool = this.openSpool();
      for (const kept of this.chunks) await this.spool.write(kept);
      this.chunks = [];
    }
    await this.spool.write(chunk);
  }

  private takeHead(chunk: Uint8Array): void {
    if (this.head.length === HEAD_BYTES) return;
    const piece = chunk.subarray(0, HEAD_BYTES - this.head.length);
    const head = new Uint8Array(this.head.length + piece.length);
    head.set(this.head);
    head.set(piece, this.head.length);
    this.head = head;
  }

  async *read(): AsyncIterable<Uint8Array> {
    if (this.spool) yield* this.spool.read();
    else yield* this.chunks;
  }

  async discard(): Promise<void> {
    this.chunks = [];
    await this.spool?.discard();
  }
}
