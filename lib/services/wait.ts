import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly everyMs?: number;
  /** Ends the waiting early: what we wait for can no longer come. */
  readonly giveUp?: () => boolean;
}

/** Asks until the answer is yes. Resolves to false when time is up or hope is gone. */
export async function waitUntil(ask: () => Promise<boolean> | boolean, options: WaitOptions): Promise<boolean> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    if (await ask()) return true;
    if (options.giveUp?.() === true || performance.now() > deadline) return false;
    await delay(options.everyMs ?? 50);
  }
}
