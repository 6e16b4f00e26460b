/** Budgets: the tree that the console shows and the writes it asks for. */
import { z } from "zod";
import { CONSUMER_KINDS, ENFORCEMENTS, ENVIRONMENTS, METERS } from "@/lib/domain/snapshot";
import { PERIOD_KINDS } from "@/lib/domain/period";
import { ladderSchema } from "@/lib/domain/policy";
import { amountText, idText, limitText, organisationView, positiveAmountText, timeMs } from "./common";

const modelPattern = z.string().trim().min(1).max(200);
const className = z.string().trim().min(1).max(40);
const budgetName = z.string().trim().min(1, "required").max(80, "too_long");

const budgetFields = {
  name: budgetName,
  limitAmount: limitText,
  periodKind: z.enum(PERIOD_KINDS),
  overflowAmount: limitText,
  enforcement: z.enum(ENFORCEMENTS),
  /** Name of a ladder in the effective policy or of a shipped template; null: the limit only. */
  ladder: z.string().min(1).max(60).nullable(),
  environment: z.enum(ENVIRONMENTS).nullable(),
  models: z.array(modelPattern).max(50),
  classes: z.array(className).max(20),
};

/** A provider or deployment has no callers to be gentle with: a call that finds no room goes to another one. */
function isPlainLimit(input: {
  overflowAmount: string;
  ladder: string | null;
  perEndUser?: boolean | undefined;
}): boolean {
  return input.ladder === null && input.overflowAmount === "0" && input.perEndUser !== true;
}

/** Exactly one of `consumerId`, `apiKeyId`, `providerId` and `deploymentId` is set. */
export const createBudgetInput = z
  .strictObject({
    ...budgetFields,
    consumerId: idText.nullable(),
    apiKeyId: idText.nullable(),
    /** What may be spent at a provider, or through one of its deployments: then it serves nothing more. */
    providerId: idText.optional(),
    deploymentId: idText.optional(),
    meter: z.enum(METERS),
    /** Counts each end user by himself, from now on. Cannot be changed: it would be another budget. */
    perEndUser: z.boolean().optional(),
  })
  .refine(
    ({ consumerId, apiKeyId, providerId, deploymentId }) =>
      [consumerId, apiKeyId, providerId ?? null, deploymentId ?? null].filter((id) => id !== null).length === 1,
    { path: ["consumerId"], message: "one_target" },
  )
  .refine((input) => (input.providerId ?? input.deploymentId) === undefined || isPlainLimit(input), {
    path: ["ladder"],
    message: "limit_only",
  });
export type CreateBudgetInput = z.infer<typeof createBudgetInput>;

/** Absent fields stay as they are. `expectedVersion` is the version the editor saw; another one is a `conflict`. */
export const updateBudgetInput = z.strictObject({
  expectedVersion: z.string().regex(/^\d{1,19}$/u),
  name: budgetName.optional(),
  limitAmount: limitText.optional(),
  periodKind: z.enum(PERIOD_KINDS).optional(),
  overflowAmount: limitText.optional(),
  enforcement: z.enum(ENFORCEMENTS).optional(),
  ladder: z.string().min(1).max(60).nullable().optional(),
  environment: z.enum(ENVIRONMENTS).nullable().optional(),
  models: z.array(modelPattern).max(50).optional(),
  classes: z.array(className).max(20).optional(),
});
export type UpdateBudgetInput = z.infer<typeof updateBudgetInput>;

export const freezeBudgetInput = z.strictObject({ frozen: z.boolean() });
export type FreezeBudgetInput = z.infer<typeof freezeBudgetInput>;

/** A top-up of the current period. `endsAtMs` null: to the end of the period. */
export const createGrantInput = z.strictObject({
  amount: positiveAmountText,
  reason: z.string().trim().min(3, "reason_short").max(500, "too_long"),
  endsAtMs: timeMs.nullable(),
});
export type CreateGrantInput = z.infer<typeof createGrantInput>;

export const periodView = z.object({ id: z.string(), startMs: timeMs, endMs: timeMs });

export const grantView = z.object({
  id: idText,
  amount: amountText,
  startsAtMs: timeMs,
  endsAtMs: timeMs,
  reason: z.string(),
});

/** What one end user has used. Names are not kept with budgets: an id is all there is; null are those that name nobody. */
const endUserUse = z.object({
  id: z.string().nullable(),
  spentAmount: amountText,
  usedBasisPoints: z.int().nullable(),
});

export const budgetView = z.object({
  id: idText,
  consumerId: idText.nullable(),
  apiKeyId: idText.nullable(),
  providerId: idText.nullable(),
  deploymentId: idText.nullable(),
  name: z.string(),
  meter: z.enum(METERS),
  periodKind: z.enum(PERIOD_KINDS),
  limitAmount: amountText,
  overflowAmount: amountText,
  enforcement: z.enum(ENFORCEMENTS),
  ladder: z.string().nullable(),
  environment: z.enum(ENVIRONMENTS).nullable(),
  models: z.array(z.string()),
  classes: z.array(z.string()),
  /** The limit is of each end user; the amounts below are those of the one who has used most. */
  perEndUser: z.boolean(),
  /** Who has used it, most first; null where it is one budget for all. */
  endUsers: z.object({ count: z.int(), top: z.array(endUserUse) }).nullable(),
  frozen: z.boolean(),
  /** For `expectedVersion` of an update. */
  version: z.string(),
  period: periodView,
  /** Sum of the grants in force now. */
  grantedAmount: amountText,
  grants: z.array(grantView),
  /** Live counters of the current period. */
  spentAmount: amountText,
  heldAmount: amountText,
  /** `live`: Redis counters; `booked`: Redis could not be read, the ledger's sum stands in and held is unknown. */
  source: z.enum(["live", "booked"]),
  /** (spent + held) / (limit + grants) in basis points; null where limit + grants is 0. */
  usedBasisPoints: z.int().nullable(),
  /** The rung in force; null without a ladder. */
  rung: z.object({ name: z.string(), atBasisPoints: z.int() }).nullable(),
  /** Marks of the ladder above zero, in basis points. */
  marks: z.array(z.object({ name: z.string(), atBasisPoints: z.int() })),
});
export type BudgetView = z.infer<typeof budgetView>;

export const budgetNode = z.object({
  id: idText,
  parentId: idText.nullable(),
  kind: z.enum([...CONSUMER_KINDS, "key"]),
  name: z.string(),
  costCentre: z.string().nullable(),
  frozen: z.boolean(),
  depth: z.int(),
  budgets: z.array(budgetView),
  /** Limits of the children's monthly cost budgets against this node's, where both exist; null otherwise. */
  allocation: z.object({ limitAmount: amountText, childrenAmount: amountText }).nullable(),
  /** What the principal may do here. */
  canWrite: z.boolean(),
  canGrant: z.boolean(),
  canFreeze: z.boolean(),
});
export type BudgetNode = z.infer<typeof budgetNode>;

export const namedLadder = z.object({ name: z.string(), ladder: ladderSchema });

export const budgetTree = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  nodes: z.array(budgetNode),
  ladders: z.array(namedLadder),
  models: z.array(z.string()),
  classes: z.array(z.string()),
});
export type BudgetTree = z.infer<typeof budgetTree>;

export const budgetHistoryEntry = z.object({
  auditId: idText,
  atMs: timeMs,
  actor: z.string(),
  action: z.string(),
  changes: z.array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() })),
});
export type BudgetHistoryEntry = z.infer<typeof budgetHistoryEntry>;

export const budgetHistory = z.object({ entries: z.array(budgetHistoryEntry) });
export type BudgetHistory = z.infer<typeof budgetHistory>;
