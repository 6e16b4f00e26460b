/**
 * Sixty days of calls, the same shape at every run: working hours, quiet weekends, a slow growth. Each call goes through
 * the rules the gateway would have applied: the ladder of the fullest budget, and never a cent above a limit.
 */
import { costOf } from "@/lib/pricing/cost";
import type { Budget } from "@/lib/domain/entities";
import { newId } from "@/lib/domain/ids";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { usageRatio } from "@/lib/domain/lines";
import { createPeriodCache } from "@/lib/domain/period";
import type { PeriodCalendar } from "@/lib/domain/period";
import { rungAt } from "@/lib/domain/policy";
import type { RefusalEvent, TokenUsage, UsageEvent } from "@/lib/domain/usage-event";
import type { PriceRates } from "@/lib/domain/snapshot";
import type { SampleApp, SampleModel } from "./company";

export interface SeededApp {
  readonly app: SampleApp;
  readonly appId: string;
  readonly apiKeyId: string;
  /** Root first, the app last. */
  readonly path: readonly string[];
}

export interface SeededModel {
  readonly rates: PriceRates;
  readonly priceId: string;
  readonly deploymentId: string;
}

export interface HistoryPlan {
  readonly organisationId: string;
  readonly providerId: string;
  readonly calendar: PeriodCalendar;
  readonly apps: readonly SeededApp[];
  readonly models: Readonly<Record<SampleModel, SeededModel>>;
  readonly budgets: readonly Budget[];
  readonly fromMs: number;
  readonly toMs: number;
}

export interface History {
  readonly events: readonly UsageEvent[];
  readonly refusals: readonly RefusalEvent[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Share of the busiest hour by local hour of a working day. */
const HOURS = [
  0.05, 0.03, 0.02, 0.02, 0.02, 0.03, 0.08, 0.2, 0.45, 0.8, 1, 0.95, 0.6, 0.7, 0.95, 1, 0.9, 0.75, 0.5, 0.45, 0.4, 0.3,
  0.2, 0.1,
];
const WEEKEND_SHARE = 0.35;

/** A small generator with a fixed start (mulberry32): the sample company looks the same everywhere. */
function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Everything that happened, oldest first. */
export function writeHistory(plan: HistoryPlan): History {
  const chance = createChance(20_261_129);
  const books = createBooks(plan);
  const events: UsageEvent[] = [];
  const refusals: RefusalEvent[] = [];
  for (let hourMs = Math.floor(plan.fromMs / HOUR_MS) * HOUR_MS; hourMs < plan.toMs; hourMs += HOUR_MS) {
    for (const seeded of plan.apps) {
      const expected = seeded.app.peakCalls * hourShare(hourMs, plan);
      let calls = Math.floor(expected + chance());
      for (; calls > 0; calls -= 1) {
        const atMs = hourMs + Math.floor(chance() * HOUR_MS);
        if (atMs < plan.fromMs || atMs >= plan.toMs) continue;
        const outcome = makeCall(plan, seeded, atMs, chance, books);
        if ("refusedAtMs" in outcome) refusals.push(outcome);
        else events.push(outcome);
      }
    }
  }
  return { events, refusals };
}

/** The zone of the sample company has no summer time, so its wall clock is a fixed step from UTC. */
const SHANGHAI_OFFSET_MS = 8 * HOUR_MS;

function hourShare(hourMs: number, plan: HistoryPlan): number {
  const local = new Date(hourMs + SHANGHAI_OFFSET_MS);
  const isWeekend = local.getUTCDay() === 0 || local.getUTCDay() === 6;
  const growth = 0.8 + 0.2 * ((hourMs - plan.fromMs) / (plan.toMs - plan.fromMs));
  return (HOURS[local.getUTCHours()] ?? 0) * (isWeekend ? WEEKEND_SHARE : 1) * growth;
}

/** Running sums by budget and period, as the counters would have stood. */
interface Books {
  /** Lines of a call of this amount; undefined when one of the budgets has no room. */
  admit(path: readonly string[], atMs: number, amount: bigint): { lines: UsageEvent["lines"] } | { full: Budget };
  /** Fullest ladder budget of the chain, in basis points. */
  fullest(path: readonly string[], atMs: number): Fullness;
  settledOf(budget: Budget, atMs: number): { periodId: string; settled: bigint };
}

interface Fullness {
  readonly budget: Budget | undefined;
  readonly basisPoints: number;
}

function createBooks(plan: HistoryPlan): Books {
  const periods = createPeriodCache(plan.calendar);
  const sums = new Map<string, bigint>();
  const keyOf = (budget: Budget, atMs: number): string => `${budget.id} ${periods.at(budget.periodKind, atMs).id}`;
  const chainOf = (path: readonly string[]): Budget[] =>
    plan.budgets.filter((budget) => budget.meter === "cost" && path.includes(budget.consumerId ?? ""));
  return {
    admit(path, atMs, amount) {
      const chain = chainOf(path);
      const full = chain.find((budget) => (sums.get(keyOf(budget, atMs)) ?? 0n) + amount > budget.limitAmount);
      if (full !== undefined) return { full };
      const lines = chain.map((budget) => {
        const key = keyOf(budget, atMs);
        sums.set(key, (sums.get(key) ?? 0n) + amount);
        return { b: budget.id, p: periods.at(budget.periodKind, atMs).id, m: budget.meter, a: amount.toString() };
      });
      return { lines };
    },
    fullest(path, atMs) {
      let best: Fullness = { budget: undefined, basisPoints: 0 };
      for (const budget of chainOf(path)) {
        if (budget.ladder === null || budget.limitAmount === 0n) continue;
        const basisPoints = Number(((sums.get(keyOf(budget, atMs)) ?? 0n) * 10_000n) / budget.limitAmount);
        if (basisPoints > best.basisPoints) best = { budget, basisPoints };
      }
      return best;
    },
    settledOf: (budget, atMs) => ({
      periodId: periods.at(budget.periodKind, atMs).id,
      settled: sums.get(keyOf(budget, atMs)) ?? 0n,
    }),
  };
}

function makeCall(
  plan: HistoryPlan,
  seeded: SeededApp,
  atMs: number,
  chance: () => number,
  books: Books,
): UsageEvent | RefusalEvent {
  const asked = pickModel(seeded.app, chance());
  const usage = makeUsage(seeded.app, asked, chance);
  const { budget, basisPoints } = books.fullest(seeded.path, atMs);
  const isDowngraded =
    budget !== undefined &&
    basisPoints >= 9_000 &&
    seeded.app.trafficClass !== "core" &&
    (asked === "sandbox-large" || asked === "sandbox-medium");
  const served: SampleModel = isDowngraded ? "sandbox-small" : asked;
  const price = plan.models[served];
  const cost = costOf({ usage, rates: price.rates });
  const askedAmount = isDowngraded ? costOf({ usage, rates: plan.models[asked].rates }).amount : cost.amount;
  const admitted = books.admit(seeded.path, atMs, cost.amount);
  if ("full" in admitted) return refusalOf(plan, seeded, atMs, asked, admitted.full, books);
  const latencyMs = Math.round(400 + usage.outputTokens * (0.6 + chance()) + chance() * 900);
  const amount = cost.amount.toString();
  return {
    ...headOf(plan, seeded, atMs, asked, served),
    heldAmount: ((cost.amount * 13n) / 10n).toString(),
    heldInputTokens: usage.inputTokens * 2,
    heldOutputTokens: Math.ceil(usage.outputTokens * 1.3),
    unknownOutcome: "hold",
    kind: "settled",
    settledAtMs: atMs + latencyMs,
    outcome: chance() < 0.01 ? "aborted" : "ok",
    isEstimated: false,
    isOverflow: false,
    decision: isDowngraded ? "downgrade" : "pass",
    rungBasisPoints: isDowngraded ? 9_000 : basisPoints >= 7_500 ? 7_500 : 0,
    usage,
    components: cost.components,
    priceAmount: amount,
    amount,
    savedAmount: (askedAmount - cost.amount).toString(),
    lines: admitted.lines,
    latencyMs,
    firstByteMs: Math.round(180 + chance() * 500),
    statusCode: 200,
    explanation: isDowngraded ? explanationOf(budget, basisPoints) : null,
  };
}

/** In the shape in which the gateway writes its decisions: as the budget stood before the call. */
function explanationOf(budget: Budget, basisPoints: number): Record<string, unknown> {
  return {
    plan: "downgrade",
    rungBasisPoints: 9_000,
    rungName: rungAt(LADDER_TEMPLATES[budget.ladder ?? ""], 9_000)?.name ?? null,
    ratioBasisPoints: basisPoints,
    budgetId: budget.id,
    ladder: budget.ladder,
    settled: ((budget.limitAmount * BigInt(basisPoints)) / 10_000n).toString(),
    held: "0",
    limit: budget.limitAmount.toString(),
  };
}

function headOf(plan: HistoryPlan, seeded: SeededApp, atMs: number, asked: SampleModel, served: SampleModel) {
  return {
    organisationId: plan.organisationId,
    requestId: newId("req", atMs),
    attempt: 0,
    reservedAtMs: atMs,
    apiKeyId: seeded.apiKeyId,
    appId: seeded.appId,
    consumerPath: [...seeded.path],
    endUser: null,
    environment: "production",
    trafficClass: seeded.app.trafficClass,
    route: asked === "sandbox-embed" ? "embeddings" : "chat/completions",
    isStream: asked !== "sandbox-embed" && seeded.app.trafficClass !== "offline",
    modelRequested: asked,
    modelServed: served,
    providerId: plan.providerId,
    deploymentId: plan.models[served].deploymentId,
    priceId: plan.models[served].priceId,
    priceCurrency: "USD",
    currency: "USD",
    fxRate: null,
  };
}

const SCOPE_OF_DEPTH = ["ORGANIZATION", "DEPARTMENT", "TEAM", "APP"];

function refusalOf(
  plan: HistoryPlan,
  seeded: SeededApp,
  atMs: number,
  asked: SampleModel,
  budget: Budget,
  books: Books,
): RefusalEvent {
  const { periodId, settled } = books.settledOf(budget, atMs);
  const scope = SCOPE_OF_DEPTH[seeded.path.indexOf(budget.consumerId ?? "")] ?? "APP";
  return {
    organisationId: plan.organisationId,
    requestId: newId("req", atMs),
    refusedAtMs: atMs,
    apiKeyId: seeded.apiKeyId,
    appId: seeded.appId,
    consumerPath: [...seeded.path],
    environment: "production",
    trafficClass: seeded.app.trafficClass,
    route: asked === "sandbox-embed" ? "embeddings" : "chat/completions",
    modelRequested: asked,
    statusCode: 429,
    code: `${scope}_BUDGET_EXHAUSTED`,
    budgetId: budget.id,
    explanation: {
      budgetId: budget.id,
      periodId,
      limit: budget.limitAmount.toString(),
      settled: settled.toString(),
      held: "0",
      rungBasisPoints: null,
      rungName: null,
      ratioBasisPoints: usageRatio(settled, budget.limitAmount),
    },
  };
}

function pickModel(app: SampleApp, roll: number): SampleModel {
  let rest = roll;
  for (const [model, share] of app.models) {
    rest -= share;
    if (rest < 0) return model;
  }
  return app.models[0]?.[0] ?? "sandbox-small";
}

function makeUsage(app: SampleApp, model: SampleModel, chance: () => number): TokenUsage {
  const spread = (typical: number): number => Math.max(1, Math.round(typical * (0.4 + 1.2 * chance())));
  const inputTokens = spread(app.inputTokens);
  const isEmbedding = model === "sandbox-embed";
  return {
    inputTokens,
    cacheReadTokens: isEmbedding ? 0 : Math.floor(inputTokens * 0.5 * chance()),
    cacheWriteTokens: 0,
    outputTokens: isEmbedding ? 0 : spread(app.outputTokens),
    reasoningTokens: 0,
  };
}

/** Days of history. */
export const HISTORY_MS = 60 * DAY_MS;
