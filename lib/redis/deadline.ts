/** A caller waits this long for the store and no longer: past it, it is refused at once instead of hanging with the rest. */
import { StoreUnavailable } from "@/lib/gateway/ports";

/** Far above what a healthy store takes, far below what a person notices. Ends of calls wait longer: nobody waits for them. */
export const STORE_DEADLINE_MS = 150;
/** For all that an organisation has, read when a process meets it for the first time. */
export const SNAPSHOT_DEADLINE_MS = 1_000;

/**
 * The result of `work`, or StoreUnavailable after `ms`. Whoever loses goes on by itself. The event loop runs timers before it
 * reads sockets, so a busy process looks once at what has come before it gives up.
 */
export function beforeDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      reject(new StoreUnavailable(`the quota store did not answer within ${String(ms)} ms`));
    };
    const timer = setTimeout(() => setImmediate(giveUp), ms);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
