/** What a policy says of how a call is held and of what a session of calls may use. */
import { z } from "zod";
import { MAX_AMOUNT } from "./money";

/**
 * How much a call holds. `max`: all that it may cost, from the beginning. `incremental`: a stream holds its input and a slice of
 * output, and more while it runs, always before it passes on what that pays for; calls that are no streams, and streams whose
 * output cannot all be seen as it is made, hold all of it.
 */
export const reserveSettingsSchema = z
  .strictObject({
    mode: z.enum(["max", "incremental"]),
    /** Output tokens held at first, and added at a time. */
    sliceTokens: z.int().min(64).max(100_000).default(1024),
    /**
     * Output tokens of each choice held beyond what was passed on: what a provider may have made that is still on its way here, and
     * makes until it hears that nobody listens any more. Speed in tokens a second, times the seconds that takes.
     */
    marginTokens: z.int().min(16).max(50_000).default(256),
  })
  .refine(({ sliceTokens, marginTokens }) => marginTokens * 2 <= sliceTokens, {
    path: ["marginTokens"],
    message: "marginTokens must be at most half of sliceTokens",
  });

/** What the calls of one session (an agent's run, a conversation) may use together: those with the same `x-spillway-session`. */
export const sessionLimitSchema = z
  .strictObject({
    /** Nanos of the organisation's currency. */
    costNanos: z
      .string()
      .regex(/^[1-9]\d{0,18}$/u, "amount_malformed")
      .refine((text) => text.length < 19 || BigInt(text) <= MAX_AMOUNT, "amount_out_of_range")
      .optional(),
    requests: z.int().min(1).max(1_000_000_000).optional(),
    /** A session is over when none of its calls has begun, run or ended for so long. */
    idleSeconds: z
      .int()
      .min(60)
      .max(7 * 86_400)
      .default(3600),
    /** Whether a call that names no session is refused; otherwise it is in none. */
    isRequired: z.boolean().default(false),
  })
  .refine(({ costNanos, requests }) => costNanos !== undefined || requests !== undefined, {
    path: ["costNanos"],
    message: "a session needs costNanos, requests, or both",
  });
export type SessionLimit = z.infer<typeof sessionLimitSchema>;

function smaller<Value>(one: Value | undefined, other: Value | undefined, less: (a: Value, b: Value) => boolean) {
  if (one === undefined || other === undefined) return one ?? other;
  return less(one, other) ? one : other;
}

/** What holds where a call answers to two policies: of each limit the lower one, and the longer memory. */
export function bothSessionLimits(one: SessionLimit | null, other: SessionLimit | null): SessionLimit | null {
  if (one === null || other === null) return one ?? other;
  const costNanos = smaller(one.costNanos, other.costNanos, (a, b) => BigInt(a) < BigInt(b));
  const requests = smaller(one.requests, other.requests, (a, b) => a < b);
  return {
    ...(costNanos === undefined ? {} : { costNanos }),
    ...(requests === undefined ? {} : { requests }),
    idleSeconds: Math.max(one.idleSeconds, other.idleSeconds),
    isRequired: one.isRequired || other.isRequired,
  };
}
