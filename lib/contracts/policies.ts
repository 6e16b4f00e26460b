/** Policies, their versions and exposures, and rate limits. */
import { z } from "zod";
import { ACTION_KINDS, policyDocumentSchema } from "@/lib/domain/policy";
import { CONSUMER_KINDS } from "@/lib/domain/snapshot";
import { idText, organisationView, timeMs } from "./common";

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

export const holdRolloutInput = z.strictObject({ held: z.boolean() });
export type HoldRolloutInput = z.input<typeof holdRolloutInput>;

/** `aborted` takes the version away from everybody, `completed` puts it in force for everybody. */
export const endRolloutInput = z.strictObject({ outcome: z.enum(["aborted", "completed"]) });
export type EndRolloutInput = z.infer<typeof endRolloutInput>;

/** Exactly one of the two is set. `policyId` null takes the assignment away. */
export const assignPolicyInput = z
  .strictObject({ consumerId: idText.nullable(), apiKeyId: idText.nullable(), policyId: idText.nullable() })
  .refine((input) => (input.consumerId === null) !== (input.apiKeyId === null), {
    path: ["consumerId"],
    message: "one_target",
  });
export type AssignPolicyInput = z.input<typeof assignPolicyInput>;

const perMinute = z.int().positive().max(1_000_000_000).nullable().default(null);

/** Exactly one target; all five values null takes the limit away. */
export const setRateLimitInput = z
  .strictObject({
    consumerId: idText.nullable(),
    apiKeyId: idText.nullable(),
    requestsPerSecond: z.int().positive().max(1_000_000).nullable().default(null),
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

export const activatePolicyInput = z.strictObject({ policyVersionId: idText });
export type ActivatePolicyInput = z.infer<typeof activatePolicyInput>;

/** Where a policy is put: a node with its names from the root on, or an API key with its name alone. */
export const policyTarget = z.object({
  id: idText,
  kind: z.enum([...CONSUMER_KINDS, "key"]),
  path: z.array(z.string()),
});
export type PolicyTarget = z.infer<typeof policyTarget>;

export const policyVersionView = z.object({
  id: idText,
  number: z.int(),
  document: policyDocumentSchema,
  note: z.string().nullable(),
  author: z.string().nullable(),
  createdAtMs: timeMs,
});
export type PolicyVersionView = z.infer<typeof policyVersionView>;

export const rolloutView = z.object({
  id: idText,
  versionId: idText,
  versionNumber: z.int(),
  /** 0: in shadow, nobody is exposed. */
  percent: z.int(),
  /** Its share may not be moved until it is released. */
  isHeld: z.boolean(),
});
export type RolloutView = z.infer<typeof rolloutView>;

export const policyView = z.object({
  id: idText,
  name: z.string(),
  /** In force; null: nothing was published yet, so the policy says nothing. */
  activeVersionId: idText.nullable(),
  /** Newest first. */
  versions: z.array(policyVersionView),
  /** The one exposure that is open; while it is, nothing else can be put in force. */
  rollout: rolloutView.nullable(),
  targets: z.array(policyTarget),
});
export type PolicyView = z.infer<typeof policyView>;

export const policyList = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  policies: z.array(policyView),
  /** Nodes on which the person may put a policy, with the policy they have. */
  nodes: z.array(policyTarget.extend({ policyId: idText.nullable() })),
  /** Models that the organisation serves. */
  models: z.array(z.string()),
  /** How many budgets name which ladder. */
  ladderUse: z.record(z.string(), z.int()),
  canWrite: z.boolean(),
  /** A fallback price takes the right to write prices. */
  canPrice: z.boolean(),
});
export type PolicyList = z.infer<typeof policyList>;

export const ROLLOUT_ACTS = ["start", "move", "hold", "release", "abort", "complete"] as const;

export const rolloutHistoryEntry = z.object({
  auditId: idText,
  atMs: timeMs,
  actor: z.string(),
  act: z.enum(ROLLOUT_ACTS),
  /** null: the version is not known any more. */
  versionNumber: z.int().nullable(),
  /** null: there was no exposure before. */
  percentBefore: z.int().nullable(),
  percent: z.int(),
});

/** What was done with the rollouts of a policy, newest first. */
export const rolloutHistory = z.object({ entries: z.array(rolloutHistoryEntry) });
export type RolloutHistory = z.infer<typeof rolloutHistory>;

export const replayQuery = z.object({ version: idText });

const replayedOutcome = z.object({ kind: z.enum([...ACTION_KINDS, "not_allowed"]), model: z.string().nullable() });

/** What the calls of the last days would have got under another version, held against the version in force. */
export const policyReplay = z.object({
  sinceMs: timeMs,
  /** Looked at: the newest calls of the apps that the policy holds for. */
  calls: z.int(),
  changed: z.int(),
  /** Most calls first. */
  groups: z.array(
    z.object({
      trafficClass: z.string(),
      model: z.string(),
      before: replayedOutcome,
      after: replayedOutcome,
      calls: z.int(),
    }),
  ),
  /** Apps that the policy holds for, in the order in which a rising share reaches them: at `bucket` < percent. */
  apps: z.array(z.object({ name: z.string(), bucket: z.int() })),
});
export type PolicyReplay = z.infer<typeof policyReplay>;
