/** A settlement of a usage event that is known as data; the hot path puts its own together as text (lib/gateway/stages/settle.ts). */
import type { EventResult, UsageEventHead } from "@/lib/domain/usage-event";
import type { Settlement } from "@/lib/gateway/ports";

/**
 * As the quota store takes it. `result` may be a whole event: of a name that comes twice the later value counts, so its head
 * may be said again.
 */
export function settlementOfEvent(
  { priceCurrency, reservedAtMs }: Pick<UsageEventHead, "priceCurrency" | "reservedAtMs">,
  result: EventResult,
): Settlement {
  return {
    cost: result.amount,
    inputTokens: result.usage.inputTokens,
    outputTokens: result.usage.outputTokens,
    ...(result.usage.requests === undefined ? {} : { requests: result.usage.requests }),
    priceCurrency,
    priceAmount: result.priceAmount,
    day: new Date(reservedAtMs).toISOString().slice(0, 10),
    resultJson: `,${JSON.stringify(result).slice(1)}`,
  };
}
