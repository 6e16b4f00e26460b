/** Milliseconds of the one clock that all processes of a machine share (CLOCK_MONOTONIC); from when, nobody knows. */
export function sharedMs(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}
