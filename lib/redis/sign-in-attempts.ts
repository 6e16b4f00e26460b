/**
 * Counts failed sign-ins, so that passwords cannot be guessed at speed. Counted by account from one address, by account
 * and by address: the first stops a guesser, the others a swarm. A success clears the account's own count.
 */
import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { signInKey } from "./keys";

const WINDOW_MS = 15 * 60_000;
const MAX_FAILURES = { pair: 8, account: 40, address: 120 } as const;

export interface SignInAttempt {
  /** Lower case. */
  readonly email: string;
  /** Of the caller as the host reports it; "unknown" where it reports none. */
  readonly address: string;
}

// Addresses and mails are hashed: nobody's address should stand in a key name, and a caller's text never becomes a key.
function keysOfAttempt(attempt: SignInAttempt): Record<keyof typeof MAX_FAILURES, string> {
  const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
  return {
    pair: signInKey("pair", hash(`${attempt.email}\n${attempt.address}`)),
    account: signInKey("account", hash(attempt.email)),
    address: signInKey("address", hash(attempt.address)),
  };
}

/** Whether another try may be made. Rejects when Redis cannot answer. */
export async function maySignIn(redis: Redis, attempt: SignInAttempt): Promise<boolean> {
  const keys = keysOfAttempt(attempt);
  const [pair, account, address] = await Promise.all([
    redis.get(keys.pair),
    redis.get(keys.account),
    redis.get(keys.address),
  ]);
  return (
    Number(pair ?? 0) < MAX_FAILURES.pair &&
    Number(account ?? 0) < MAX_FAILURES.account &&
    Number(address ?? 0) < MAX_FAILURES.address
  );
}

/** Records a failure. The window starts with the first one. */
export async function recordSignInFailure(redis: Redis, attempt: SignInAttempt): Promise<void> {
  const transaction = redis.multi();
  for (const key of Object.values(keysOfAttempt(attempt))) transaction.incr(key).pexpire(key, WINDOW_MS, "NX");
  await transaction.exec();
}

/** Forgets this caller's failures at this account. */
export async function clearSignInFailures(redis: Redis, attempt: SignInAttempt): Promise<void> {
  await redis.del(keysOfAttempt(attempt).pair);
}
