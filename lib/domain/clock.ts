/** Time as a dependency: the only place of the domain and the gateway that may ask the machine what time it is. */
export interface Clock {
  /** Unix milliseconds. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that stands still until it is moved. */
export interface FrozenClock extends Clock {
  set(timeMs: number): void;
  advance(durationMs: number): void;
}

export function frozenClock(startMs: number): FrozenClock {
  let current = startMs;
  return {
    nowMs: () => current,
    set: (timeMs) => {
      current = timeMs;
    },
    advance: (durationMs) => {
      current += durationMs;
    },
  };
}
