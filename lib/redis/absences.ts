/**
 * What was looked for and is not there, for a moment: made-up names must not cost a round trip each. Bounded; the oldest
 * goes first, and what comes to be is forgotten here at once (`appeared`) or by itself.
 */
import type { Clock } from "@/lib/domain/clock";

export class Absences {
  private readonly untilMs = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    private readonly options: { readonly keptMs: number; readonly max: number },
  ) {}

  has(name: string): boolean {
    const until = this.untilMs.get(name);
    if (until === undefined) return false;
    if (this.clock.nowMs() < until) return true;
    this.untilMs.delete(name);
    return false;
  }

  note(name: string): void {
    if (this.untilMs.size >= this.options.max) {
      const oldest = this.untilMs.keys().next();
      if (!oldest.done) this.untilMs.delete(oldest.value);
    }
    this.untilMs.set(name, this.clock.nowMs() + this.options.keptMs);
  }

  appeared(name: string): void {
    this.untilMs.delete(name);
  }
}
