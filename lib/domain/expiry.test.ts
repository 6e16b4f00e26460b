import { describe, expect, it } from "vitest";
import type { ExpiredReservation } from "./expiry";
import { expiryOf } from "./expiry";
import type { UsageEventHead } from "./usage-event";
import { usageEvent } from "./usage-event";

const head: UsageEventHead = {
  organisationId: "acme",
  requestId: "req_1",
  attempt: 1,
  reservedAtMs: 1_000,
  apiKeyId: "key_1",
  appId: "con_1",
  consumerPath: ["acme", "con_1"],
  endUser: null,
  environment: "production",
  trafficClass: "core",
  route: "/v1/chat/completions",
  isStream: true,
  modelRequested: "large",
  modelServed: "small",
  providerId: "prv_1",
  deploymentId: "dep_1",
  priceId: "prc_1",
  priceCurrency: "USD",
  currency: "CNY",
  fxRate: "7.1",
  heldAmount: "7100",
  heldInputTokens: 300,
  heldOutputTokens: 40,
  unknownOutcome: "hold",
};
const reservation: ExpiredReservation = {
  head,
  lines: [
    { budgetId: "bud_1", periodId: "M2026-11", meter: "cost" },
    { budgetId: "bud_2", periodId: "D2026-11-29", meter: "total_tokens" },
    { budgetId: "bud_3", periodId: "D2026-11-29", meter: "requests" },
  ],
  counted: null,
  rungBasisPoints: 9000,
  isOverflow: false,
};
const priceUsage = (usage: { inputTokens: number; outputTokens: number }) => ({
  amount: BigInt(usage.inputTokens + 2 * usage.outputTokens),
  components: [],
});

describe("an expired reservation", () => {
  it("is booked at the hold where nothing is known", () => {
    const { event, meters } = expiryOf(reservation, priceUsage, 9_000);
    expect(usageEvent.safeParse(event).success).toBe(true);
    expect(event).toMatchObject({
      amount: "7100",
      priceAmount: "1000",
      outcome: "unknown",
      isEstimated: true,
      decision: "downgrade",
    });
    expect(event.lines.map((line) => line.a)).toEqual(["7100", "340", "1"]);
    expect(meters.cost).toBe(7100n);
  });

  it("is booked at its last counted usage where a stream had one", () => {
    const counted = { inputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 10, reasoningTokens: 0 };
    const { event } = expiryOf({ ...reservation, counted }, priceUsage, 9_000);
    expect(event).toMatchObject({ amount: "852", priceAmount: "120", outcome: "expired", usage: counted });
    expect(event.lines.map((line) => line.a)).toEqual(["852", "110", "1"]);
  });

  it("is booked at its input alone where the policy says so", () => {
    const { event } = expiryOf({ ...reservation, head: { ...head, unknownOutcome: "input" } }, priceUsage, 9_000);
    expect(event).toMatchObject({ priceAmount: "300", amount: "2130" });
  });

  it("falls back to the hold, never to nothing, where its price is gone", () => {
    const { event } = expiryOf({ ...reservation, head: { ...head, unknownOutcome: "input" } }, () => null, 9_000);
    expect(event).toMatchObject({ amount: "7100", explanation: { estimate: "hold" } });
  });
});
