/** Policies, their versions and exposures, and rate limits. */
import { z } from "zod";
import { policyDocumentSchema } from "@/lib/domain/policy";
import { idText } from "./common";

export const createPolicyInput = z.strictObject({ name: z.string().trim().min(1, "required").max(80, "too_long") });
export type CreatePolicyInput = z.input<typeof createPolicyInput>;

/** Publishing makes the version active at once; a rollout exposes it to a share first. */
export const publishPolicyVersionInput = z.strictObject({
  document: policyDocumentSchema,
  note: z.string().trim().max(500).nullable().default(null),
  /** false: store the version for a rollout without making it active. */
  activate: z.boolean().default(true),
  /** Asked for when a rate of a new fallback price is above 10,000 per million or 100 times the last. */
  confirmSuspicious: z.boolean().default(false),
});
export type PublishPolicyVersionInput = z.input<typeof publishPolicyVersionInput>;

export const startRolloutInput = z.strictObject({ policyVersionId: idText, percent: z.int().min(0).max(100) });
export type StartRolloutInput = z.input<typeof startRolloutInput>;

/** Exactly one of the two is set. `policyId` null takes the assignment away. */
export const assignPolicyInput = z
  .strictObject({ consumerId: idText.nullable(), apiKeyId: idText.nullable(), policyId: idText.nullable() })
  .refine((input) => (input.consumerId === null) !== (input.apiKeyId === null), {
    path: ["consumerId"],
    message: "one_target",
  });
export type AssignPolicyInput = z.input<typeof assignPolicyInput>;

const perMinute = z.int().positive().max(1_000_000_000).nullable().default(null);

/** Exactly one target; all four values null takes the limit away. */
export const setRateLimitInput = z
  .strictObject({
    consumerId: idText.nullable(),
    apiKeyId: idText.nullable(),
    requestsPerMinute: perMinute,
    burstRequests: perMinute,
    tokensPerMinute: perMinute,
    concurrency: z.int().positive().max(1_000_000).nullable().default(null),
  })
  .refine((input) => (input.consumerId === null) !== (input.apiKeyId === null), {
    path: ["consumerId"],
    message: "one_target",
  });
export type SetRateLimitInput = z.input<typeof setRateLimitInput>;
