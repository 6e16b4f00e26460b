/** The request log: settled calls from the ledger and refused calls, newest first. Prompts and answers are never here. */
import { z } from "zod";
import { DENIAL_CODES } from "@/lib/domain/denial";
import { DEFERRED_STATES } from "@/lib/domain/deferred-call";
import { chargedLine, costComponent, NOTE_DECISIONS, tokenUsage } from "@/lib/domain/usage-event";
import { amountText, idText, organisationView, timeMs } from "./common";

export const REQUEST_DECISIONS = ["pass", "downgrade", "cache", "static", "deferred", "replayed", "refused"] as const;

export const requestListQuery = z.object({
  q: z.string().trim().max(80).default(""),
  app: z.string().max(64).default(""),
  model: z.string().max(200).default(""),
  decision: z.enum(["", ...REQUEST_DECISIONS]).default(""),
  /** An outcome of a settled call, or a refusal code. */
  outcome: z.string().max(60).default(""),
  /** As the caller named it in `x-spillway-session`. */
  session: z.string().max(256).default(""),
  /** `<reservedAtMs>.<requestId>.<attempt>` of the last row seen. */
  after: z.string().max(120).default(""),
});
export type RequestListQuery = z.infer<typeof requestListQuery>;

/** Of one CSV file. Somebody who needs more narrows the filter; a spreadsheet is no place for a whole ledger. */
export const EXPORT_MAX_ROWS = 50_000;

export const requestRow = z.object({
  requestId: z.string(),
  attempt: z.int(),
  atMs: timeMs,
  appName: z.string().nullable(),
  keyName: z.string().nullable(),
  environment: z.string().nullable(),
  trafficClass: z.string().nullable(),
  modelRequested: z.string().nullable(),
  modelServed: z.string().nullable(),
  decision: z.enum(REQUEST_DECISIONS),
  /** Outcome of a settled call or code of a refusal. */
  outcome: z.string(),
  inputTokens: z.int().nullable(),
  outputTokens: z.int().nullable(),
  amount: amountText.nullable(),
  savedAmount: amountText.nullable(),
  latencyMs: z.int().nullable(),
  statusCode: z.int().nullable(),
  isEstimated: z.boolean(),
});
export type RequestRow = z.infer<typeof requestRow>;

export const requestList = z.object({
  organisation: organisationView,
  rows: z.array(requestRow),
  next: z.string().nullable(),
  apps: z.array(z.object({ id: idText, name: z.string() })),
  models: z.array(z.string()),
  outcomes: z.array(z.string()),
  /** Whether the person may save any of it to a file. */
  canExport: z.boolean(),
});
export type RequestList = z.infer<typeof requestList>;

/** What the gateway wrote down about its decision; every field may be absent. Amounts are those at that moment. */
export const decisionExplanation = z.object({
  budgetId: z.string().nullable(),
  budgetName: z.string().nullable(),
  consumerName: z.string().nullable(),
  /** What the budget counts: the unit of the amounts. */
  meter: z.string().nullable(),
  ladder: z.string().nullable(),
  rungName: z.string().nullable(),
  rungBasisPoints: z.number().nullable(),
  ratioBasisPoints: z.number().nullable(),
  settledAmount: amountText.nullable(),
  heldAmount: amountText.nullable(),
  limitAmount: amountText.nullable(),
  /** A class that the request claimed and its key may not have. */
  ignoredClass: z.string().nullable(),
  /** What the attempt failed of: a kind of the table of upstream errors. */
  failure: z.string().nullable(),
  /** Names of providers and deployments that were passed over: what may be spent there was spent. */
  spentTargets: z.array(z.string()),
});
export type DecisionExplanation = z.infer<typeof decisionExplanation>;

export const requestAttempt = z.object({
  attempt: z.int(),
  sequence: z.int(),
  kind: z.enum(["usage", "correction", "adjustment"]),
  atMs: timeMs,
  settledAtMs: timeMs,
  bookedAtMs: timeMs,
  modelServed: z.string(),
  provider: z.string().nullable(),
  decision: z.string(),
  rungBasisPoints: z.int(),
  outcome: z.string(),
  isEstimated: z.boolean(),
  isStream: z.boolean(),
  isOverflow: z.boolean(),
  usage: tokenUsage.partial(),
  /** `costNanos` is quantity x rate in the price's currency, unrounded decimal text of nanos. */
  components: z.array(costComponent.extend({ kind: z.string(), costNanos: z.string() })),
  priceCurrency: z.string(),
  priceAmount: amountText,
  fxRate: z.string().nullable(),
  amount: amountText,
  savedAmount: amountText,
  heldAmount: amountText,
  overageAmount: amountText,
  lines: z.array(chargedLine.extend({ budgetName: z.string().nullable(), consumerName: z.string().nullable() })),
  latencyMs: z.int().nullable(),
  firstByteMs: z.int().nullable(),
  statusCode: z.int().nullable(),
  explanation: decisionExplanation.nullable(),
});
export type RequestAttempt = z.infer<typeof requestAttempt>;

/** A call that was stopped, or answered without a provider (`NOTE_DECISIONS`). */
export const requestRefusal = z.object({
  atMs: timeMs,
  code: z.string(),
  statusCode: z.int(),
  explanation: decisionExplanation.nullable(),
  /** What was wrong with the request, in English. */
  detail: z.string().nullable(),
  /** The call whose answer was given again. */
  replayedRequestId: z.string().nullable(),
  /** The call as it waits or waited; `state` null: it has only just been taken, or is gone with its answer. */
  deferral: z
    .object({
      id: z.string(),
      state: z.enum(DEFERRED_STATES).nullable(),
      tries: z.int(),
      deadlineMs: timeMs.nullable(),
      endedMs: timeMs.nullable(),
      /** The call that it was run as. */
      runRequestId: z.string().nullable(),
    })
    .nullable(),
});
export type RequestRefusal = z.infer<typeof requestRefusal>;

/** What was decided about a call that is not in the ledger. */
export function decisionOfCode(code: string): (typeof REQUEST_DECISIONS)[number] {
  return Object.entries(NOTE_DECISIONS).find(([note]) => note === code)?.[1] ?? "refused";
}

/** Every code under which the request log keeps a call that is not in the ledger; scopes of budgets apart. */
export const REFUSAL_CODES = [
  ...DENIAL_CODES,
  ...(Object.keys(NOTE_DECISIONS) as (keyof typeof NOTE_DECISIONS)[]),
  "content_blocked",
  "upstream_error",
  "upstream_timeout",
] as const;

export const requestDetail = z.object({
  organisation: organisationView,
  requestId: z.string(),
  atMs: timeMs,
  route: z.string(),
  path: z.array(z.string()),
  appName: z.string().nullable(),
  keyName: z.string().nullable(),
  endUser: z.string().nullable(),
  session: z.string().nullable(),
  /** The call that was deferred and run as this one; `requestId` null: only its own id is known. */
  deferredFrom: z.object({ id: z.string(), requestId: z.string().nullable() }).nullable(),
  environment: z.string().nullable(),
  trafficClass: z.string().nullable(),
  modelRequested: z.string().nullable(),
  attempts: z.array(requestAttempt),
  refusal: requestRefusal.nullable(),
  totalAmount: amountText,
});
export type RequestDetail = z.infer<typeof requestDetail>;
