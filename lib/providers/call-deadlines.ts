/**
 * Ends calls that take longer than they may, from their first moment to the last byte of the answer. One slow timer for all of a
 * process: a timer of each call's own would cost every call what next to none of them needs.
 */
const TICK_MS = 100;

/**
 * The calls are a list by their own links, which are cut as they leave. A set of them would have its old tables outlive its
 * entries in the collector's eyes, and every call of a second stay in memory with them.
 */
export interface BoundedCall {
  /** Set and read by the deadlines alone. */
  bound: Bound | undefined;
  /** Its time is up. Called once at the most. */
  late(): void;
}

interface Bound {
  readonly dueTick: number;
  before: BoundedCall | undefined;
  after: BoundedCall | undefined;
}

export class CallDeadlines {
  private first: BoundedCall | undefined;
  private tick = 0;
  private timer: NodeJS.Timeout | undefined;

  /** The call ends after so many milliseconds, up to two tenths of a second later and never earlier, unless it is over before. */
  add(call: BoundedCall, timeoutMs: number): void {
    const { first } = this;
    call.bound = { dueTick: this.tick + Math.ceil(timeoutMs / TICK_MS) + 1, before: undefined, after: first };
    if (first?.bound) first.bound.before = call;
    this.first = call;
    this.timer ??= setInterval(() => {
      this.sweep();
    }, TICK_MS).unref();
  }

  over(call: BoundedCall): void {
    const { bound } = call;
    if (!bound) return;
    call.bound = undefined;
    const { before, after } = bound;
    if (after?.bound) after.bound.before = before;
    if (before?.bound) before.bound.after = after;
    else this.first = after;
    bound.before = undefined;
    bound.after = undefined;
  }

  private sweep(): void {
    this.tick += 1;
    const late: BoundedCall[] = [];
    for (let call = this.first; call; call = call.bound?.after) {
      if (call.bound && call.bound.dueTick <= this.tick) late.push(call);
    }
    for (const call of late) {
      this.over(call);
      call.late();
    }
    if (this.first) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
