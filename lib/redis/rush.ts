/** How many calls, in how many milliseconds, make it pay to wait for company. */
const CALLS = 8;
const WITHIN_MS = 20;

/** Tells calls that come fast from calls that merely last: 500 open streams are no reason to let the next one wait. */
export class Rush {
  private readonly lastMs = new Float64Array(CALLS).fill(-Infinity);
  private next = 0;

  noteCall(nowMs: number): void {
    this.lastMs[this.next] = nowMs;
    this.next = (this.next + 1) % CALLS;
  }

  isOn(nowMs: number): boolean {
    return nowMs - (this.lastMs[this.next] ?? -Infinity) <= WITHIN_MS;
  }
}
