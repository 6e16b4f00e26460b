/**
 * A Policy is plain data: what models a consumer may call, how its budgets step down, what is held when a caller
 * states no cap. A PolicyVersion is one immutable document; documents along the consumer chain are merged, the
 * nearest to the caller winning for each setting, while model lists only ever narrow.
 */
import { z } from "zod";
import { LADDER_TEMPLATES } from "./ladder-templates";
import type { SessionLimit } from "./call-settings";
import { reserveSettingsSchema, sessionLimitSchema } from "./call-settings";
import { priceRatesSchema } from "./price-rates";

export const TRAFFIC_CLASSES = ["core", "general", "marketing", "offline"] as const;

/** What a rung does to a class of traffic, mildest first. */
export const ACTION_KINDS = ["pass", "downgrade", "cache_only", "static", "defer", "protect", "refuse"] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

// 1000 % is the most a ladder may name: above it the script's exact comparison would leave 2^53.
const basisPoints = z.int("number_malformed").min(0, "number_out_of_range").max(100_000, "number_out_of_range");

export const actionSchema = z.strictObject({
  kind: z.enum(ACTION_KINDS),
  /** Cosine threshold of the response cache while this action is in force. */
  cacheThreshold: z.number("number_malformed").min(0, "number_out_of_range").max(1, "number_out_of_range").optional(),
  /** For `protect`. */
  retryAfterSeconds: z.int("number_malformed").min(1, "number_out_of_range").max(60, "number_out_of_range").optional(),
});
export type Action = z.infer<typeof actionSchema>;

export const rungSchema = z.strictObject({
  /** Usage ratio from which the rung holds, in basis points of limit + grants: 9000 is 90 %. */
  atBasisPoints: basisPoints,
  name: z.string().min(1, "required").max(40, "too_long"),
  /** By traffic class; `*` stands for every class not named. */
  actions: z.record(z.string(), actionSchema).refine((actions) => "*" in actions, "others_missing"),
});
export type Rung = z.infer<typeof rungSchema>;

export const ladderSchema = z.strictObject({
  rungs: z
    .array(rungSchema)
    .min(1, "rungs_missing")
    .max(12, "too_many")
    .superRefine((rungs, context) => {
      for (const [index, { atBasisPoints }] of rungs.entries()) {
        if (atBasisPoints > (rungs[index - 1]?.atBasisPoints ?? -1)) continue;
        context.addIssue({ code: "custom", path: [index, "atBasisPoints"], message: "rungs_not_rising" });
      }
    }),
  /** Who may use a budget's overflow once its limit is reached. */
  overflow: z.enum(["all", "vip", "none"]).default("none"),
});
export type Ladder = z.infer<typeof ladderSchema>;

/** Budgets name their ladder by it. */
export const ladderName = z.string().min(1, "required").max(60, "too_long");

/**
 * What calls cost whose model has no price. A call priced so is booked with FALLBACK_PRICE_ID in place of a price row's id, and
 * finance is alerted; without a fallback such calls are refused.
 */
export const fallbackPriceSchema = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/u, "currency_malformed"),
  rates: priceRatesSchema.refine((rates) => Object.keys(rates).length > 0, "required"),
});
export type FallbackPrice = z.infer<typeof fallbackPriceSchema>;

export const FALLBACK_PRICE_ID = "fallback";

/** Where the ends of deferred calls are told. Absent: nowhere, whatever a caller names. */
export const webhookPolicySchema = z.strictObject({
  /** For calls that name none. Say nothing secret in it: deliveries are proved by their signature. */
  url: z.string().max(2048, "too_long").optional(),
  /** Hosts that a caller may name: `hooks.example.com`, or `*.example.com` for every name below. */
  hosts: z
    .array(z.string().regex(/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/u, "host_malformed"))
    .max(50)
    .default([]),
});
export type WebhookPolicy = z.infer<typeof webhookPolicySchema>;

const modelPattern = z.string().min(1).max(200);
const trafficClassName = z.string().min(1).max(40);

/**
 * Models by exact name or pattern with `*`: for every call, or for calls of some traffic classes only. Of an allow list such an
 * entry allows nothing to other classes.
 */
const modelListEntrySchema = z.union([
  modelPattern,
  z.strictObject({ pattern: modelPattern, classes: z.array(trafficClassName).min(1).max(20) }),
]);
export type ModelListEntry = z.infer<typeof modelListEntrySchema>;
const modelList = z.array(modelListEntrySchema).max(500);

export const policyDocumentSchema = z.strictObject({
  models: z.strictObject({ allow: modelList.optional(), deny: modelList.optional() }).optional(),
  ladders: z.record(ladderName, ladderSchema).optional(),
  /** Asked model (exact or pattern with *) to the cheaper model served from the downgrade rung on. */
  downgrade: z.record(modelPattern, z.string().min(1).max(200)).optional(),
  /** Model (exact or pattern with *) to the models tried, in this order, where none of its own deployments serves. */
  fallbacks: z.record(modelPattern, z.array(z.string().min(1).max(200)).min(1).max(5)).optional(),
  /** Data residency: the regions of deployments that calls may go to. A deployment without a stated region is in none. */
  regions: z.array(z.string().min(1).max(60)).min(1).max(50).optional(),
  /** Output tokens held, and written into the upstream request, when the caller states no cap. */
  outputCapTokens: z.int().min(1).max(1_000_000).optional(),
  reserve: reserveSettingsSchema.optional(),
  session: sessionLimitSchema.optional(),
  clientGone: z.enum(["cut", "drain"]).optional(),
  unknownOutcome: z.enum(["hold", "input"]).optional(),
  /** Answer of the `static` action by locale. */
  staticText: z.record(z.string(), z.string().max(4000)).optional(),
  fallbackPrice: fallbackPriceSchema.optional(),
  /** Opt-in: how long the answer of a call with an Idempotency-Key is kept, encrypted, to be replayed. Absent or 0: not at all. */
  answerKeepSeconds: z
    .int()
    .min(0)
    .max(7 * 86_400)
    .optional(),
  /** Opt-in: for so long the same body from the same key is the same call, though it has no Idempotency-Key. */
  retryWindowSeconds: z.int().min(0).max(600).optional(),
  /** Opt-in: calls may wait for money, stored encrypted. */
  deferral: z
    .strictObject({
      /** A call that could not begin by then expires. */
      deadlineSeconds: z
        .int()
        .min(1)
        .max(7 * 86_400)
        .default(86_400),
      /** How long answers are kept. */
      keepSeconds: z
        .int()
        .min(60)
        .max(7 * 86_400)
        .default(86_400),
      webhook: webhookPolicySchema.optional(),
    })
    .optional(),
});
export type PolicyDocument = z.infer<typeof policyDocumentSchema>;

export type DeferralPolicy = NonNullable<PolicyDocument["deferral"]>;

/** The merged policy of one caller: every setting has a value. */
export interface EffectivePolicy {
  /** Every list must allow the model; an empty array of lists allows all. */
  readonly allowLists: readonly (readonly ModelListEntry[])[];
  readonly deny: readonly ModelListEntry[];
  readonly ladders: Readonly<Record<string, Ladder>>;
  readonly downgrade: Readonly<Record<string, string>>;
  readonly fallbacks: Readonly<Record<string, readonly string[]>>;
  /** Null: anywhere. Lists along the chain narrow one another; what is in no list of them all is nowhere. */
  readonly regions: readonly string[] | null;
  readonly outputCapTokens: number;
  /** Null: a call holds all that it may cost. */
  readonly increments: { readonly sliceTokens: number; readonly marginTokens: number } | null;
  /** Null: sessions are not counted. */
  readonly session: SessionLimit | null;
  readonly clientGone: "cut" | "drain";
  readonly unknownOutcome: "hold" | "input";
  readonly staticText: Readonly<Record<string, string>>;
  /** Null: a call of a model without a price is refused. */
  readonly fallbackPrice: FallbackPrice | null;
  readonly answerKeepSeconds: number;
  readonly retryWindowSeconds: number;
  /** Null: no call may wait. */
  readonly deferral: DeferralPolicy | null;
}

export const DEFAULT_OUTPUT_CAP_TOKENS = 4096;

/** Merges documents, root first; the ladders that ship are there under their names, unless a document says otherwise. Pure; the caller resolves rollouts before. */
export function mergePolicies(documents: readonly PolicyDocument[]): EffectivePolicy {
  const allowLists: (readonly ModelListEntry[])[] = [];
  const deny: ModelListEntry[] = [];
  let regions: readonly string[] | null = null;
  let merged: PolicyDocument = {};
  for (const document of documents) {
    if (document.models?.allow) allowLists.push(document.models.allow);
    if (document.models?.deny) deny.push(...document.models.deny);
    regions = commonRegions(regions, document.regions ?? null);
    merged = {
      ...merged,
      ...document,
      ladders: { ...merged.ladders, ...document.ladders },
      downgrade: { ...merged.downgrade, ...document.downgrade },
      fallbacks: { ...merged.fallbacks, ...document.fallbacks },
      staticText: { ...merged.staticText, ...document.staticText },
    };
  }
  return {
    allowLists,
    deny,
    ladders: { ...LADDER_TEMPLATES, ...merged.ladders },
    downgrade: merged.downgrade ?? {},
    fallbacks: merged.fallbacks ?? {},
    regions,
    outputCapTokens: merged.outputCapTokens ?? DEFAULT_OUTPUT_CAP_TOKENS,
    increments: merged.reserve?.mode === "incremental" ? merged.reserve : null,
    session: merged.session ?? null,
    clientGone: merged.clientGone ?? "cut",
    unknownOutcome: merged.unknownOutcome ?? "hold",
    staticText: merged.staticText ?? {},
    fallbackPrice: merged.fallbackPrice ?? null,
    answerKeepSeconds: merged.answerKeepSeconds ?? 0,
    retryWindowSeconds: merged.retryWindowSeconds ?? 0,
    deferral: merged.deferral ?? null,
  };
}

/** The regions that both allow; null allows all. */
export function commonRegions(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null || other === null) return one ?? other;
  return one.filter((region) => other.includes(region));
}

/** Whether `name` matches `pattern`, in which `*` stands for any run of characters. Case matters. Linear time. */
export function matchesPattern(pattern: string, name: string): boolean {
  if (!pattern.includes("*")) return pattern === name;
  const parts = pattern.split("*");
  const first = parts[0] ?? "";
  const last = parts[parts.length - 1] ?? "";
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let position = first.length;
  const end = name.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, position);
    if (found < 0 || found + part.length > end) return false;
    position = found + part.length;
  }
  return position <= end;
}

function names(entry: ModelListEntry, model: string): boolean {
  return matchesPattern(typeof entry === "string" ? entry : entry.pattern, model);
}

function isFor(entry: ModelListEntry, trafficClass: string): boolean {
  return typeof entry === "string" || entry.classes.includes(trafficClass);
}

/** `denied_to_class`: calls of another class may. */
type ModelVerdict = "allowed" | "denied" | "denied_to_class";

/** What the lists say of a model for a call of this class. */
export function modelVerdict({ deny, allowLists }: EffectivePolicy, model: string, trafficClass: string): ModelVerdict {
  const denying = deny.filter((entry) => names(entry, model));
  const allowing = allowLists.map((list) => list.filter((entry) => names(entry, model)));
  const isDenied = denying.some((entry) => isFor(entry, trafficClass));
  if (!isDenied && allowing.every((list) => list.some((entry) => isFor(entry, trafficClass)))) return "allowed";
  const isForNobody = denying.some((entry) => typeof entry === "string") || allowing.some((list) => list.length === 0);
  return isForNobody ? "denied" : "denied_to_class";
}

export function isModelAllowed(policy: EffectivePolicy, model: string, trafficClass: string): boolean {
  return modelVerdict(policy, model, trafficClass) === "allowed";
}

/** The entry for a model: exact entries win over patterns, the longest pattern over shorter ones. */
function entryFor<Value>(entries: Readonly<Record<string, Value>>, model: string): Value | undefined {
  if (Object.hasOwn(entries, model)) return entries[model];
  let best: string | undefined;
  for (const pattern of Object.keys(entries)) {
    if (matchesPattern(pattern, model) && (best === undefined || pattern.length > best.length)) best = pattern;
  }
  return best === undefined ? undefined : entries[best];
}

/** The model served from the downgrade rung on; undefined when the map names none. */
export function downgradeTarget(policy: EffectivePolicy, model: string): string | undefined {
  const target = entryFor(policy.downgrade, model);
  return target === model ? undefined : target;
}

/** The models tried in place of one that nobody serves now, in order. */
export function fallbacksOf(policy: EffectivePolicy, model: string): readonly string[] {
  const named = entryFor(policy.fallbacks, model) ?? [];
  return named.includes(model) ? named.filter((name) => name !== model) : named;
}

export function actionFor(rung: Rung, trafficClass: string): Action {
  return rung.actions[trafficClass] ?? rung.actions["*"] ?? { kind: "refuse" };
}

/** The rung that holds at a usage ratio; undefined where the ladder has none there. */
export function rungAt(ladder: Ladder | undefined, basisPoints: number): Rung | undefined {
  return ladder?.rungs.findLast((rung) => rung.atBasisPoints <= basisPoints);
}
