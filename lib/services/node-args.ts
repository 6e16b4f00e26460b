/** Arguments of Node by program, the same wherever one is started. */

/**
 * The worker reads and writes much and keeps little, and waits for nobody's answer: threads that help its collector cost two
 * fifths of its processor time and save it nothing.
 */
export function nodeArgsOf(entry: string): readonly string[] {
  return entry === "workers/main.ts" ? ["--single-threaded-gc"] : [];
}
