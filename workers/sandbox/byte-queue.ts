/**
 * Bytes received and not yet used, in one piece. A request that came in one piece is not copied at all, a large upload
 * is copied a few times and not once a packet.
 */
import { Buffer } from "node:buffer";

const NO_BYTES = Buffer.alloc(0);

export class ByteQueue {
  private buffer: Buffer = NO_BYTES;
  private used = 0;
  private isOwn = false;

  get length(): number {
    return this.used;
  }

  append(piece: Buffer): void {
    if (this.used === 0) {
      this.buffer = piece;
      this.used = piece.length;
      this.isOwn = false;
      return;
    }
    const wanted = this.used + piece.length;
    if (!this.isOwn || wanted > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(wanted * 2, 4_096));
      this.buffer.copy(larger, 0, 0, this.used);
      this.buffer = larger;
      this.isOwn = true;
    }
    piece.copy(this.buffer, this.used);
    this.used = wanted;
  }

  /** All bytes; what has been handed out is not written to again. */
  view(): Buffer {
    return this.used === this.buffer.length ? this.buffer : this.buffer.subarray(0, this.used);
  }

  /** Leaves what follows the first `count` bytes. */
  drop(count: number): void {
    this.buffer = count === this.used ? NO_BYTES : this.buffer.subarray(count, this.used);
    this.used -= count;
    this.isOwn = false;
  }
}
