/**
 * Ends calls that take longer than they may, from their first moment to the last byte of the answer. One slow timer for all of a
 * process: a timer of each call's own would cost every call what next to none of them needs.
 */
const TICK_MS = 100;

export interface BoundedCall {
  /** Set and read by the deadlines alone. */
  dueTick: number;
  /** Its time is up. Called once at the most. */
  late(): void;
}

export class CallDeadlines {
  private readonly calls = new Set<BoundedCall>();
  private tick = 0;
  private timer: NodeJS.Timeout | undefined;

  /** The call ends after so many milliseconds, up to two tenths of a second later and never earlier, unless it is over before. */
  add(call: BoundedCall, timeoutMs: number): void {
    call.dueTick = this.tick + Math.ceil(timeoutMs / TICK_MS) + 1;
    this.calls.add(call);
    this.timer ??= setInterval(() => {
      this.sweep();
    }, TICK_MS).unref();
  }

  over(call: BoundedCall): void {
    this.calls.delete(call);
  }

  private sweep(): void {
    this.tick += 1;
    for (const call of this.calls) {
      if (call.dueTick > this.tick) continue;
      this.calls.delete(call);
      call.late();
    }
    if (this.calls.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
