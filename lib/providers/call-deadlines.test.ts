import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BoundedCall } from "./call-deadlines";
import { CallDeadlines } from "./call-deadlines";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function call(): BoundedCall & { ended: number } {
  return {
    bound: undefined,
    ended: 0,
    late() {
      this.ended += 1;
    },
  };
}

describe("deadlines of calls", () => {
  it("end a call once its time is up: never before, and soon after, whenever it began", () => {
    const deadlines = new CallDeadlines();
    const [first, second] = [call(), call()];
    deadlines.add(first, 1_000);
    vi.advanceTimersByTime(550);
    deadlines.add(second, 1_000);
    vi.advanceTimersByTime(449);
    expect(first.ended).toBe(0);
    vi.advanceTimersByTime(201);
    expect([first.ended, second.ended]).toEqual([1, 0]);
    vi.advanceTimersByTime(349);
    expect(second.ended).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect([first.ended, second.ended]).toEqual([1, 1]);
  });

  it("leave calls alone that are over, and keep no timer for none", () => {
    const deadlines = new CallDeadlines();
    const done = call();
    deadlines.add(done, 100);
    deadlines.over(done);
    vi.advanceTimersByTime(1_000);
    expect([done.ended, vi.getTimerCount()]).toEqual([0, 0]);
    const next = call();
    deadlines.add(next, 100);
    vi.advanceTimersByTime(300);
    expect(next.ended).toBe(1);
  });

  it("go on for the others, whichever leaves: the first, the last, one between, one twice, all at once", () => {
    const deadlines = new CallDeadlines();
    const calls = Array.from({ length: 6 }, call);
    for (const one of calls) deadlines.add(one, 500);
    for (const index of [0, 5, 2, 2]) deadlines.over(calls[index] ?? call());
    deadlines.over(call());
    vi.advanceTimersByTime(1_000);
    expect(calls.map(({ ended }) => ended)).toEqual([0, 1, 0, 1, 1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
