/**
 * What the finished lines of a batch cost together: each priced by its own usage at the batch tier and rounded by itself, as
 * providers bill them; then added up.
 */
import type { Nanos } from "@/lib/domain/money";
import { assertAmount } from "@/lib/domain/money";
import type { PriceRates } from "@/lib/domain/price-rates";
import type { CostComponent, TokenUsage } from "@/lib/domain/usage-event";
import { sumUsage } from "@/lib/domain/correction";
import { costOf } from "./cost";

/** As rows name it (`services.batch`); a row without it sells batches at its ordinary rates. */
export const BATCH_TIER = "batch";

export interface BatchTotal {
  readonly lines: number;
  readonly usage: TokenUsage;
  /** Nanos of the row's currency. */
  readonly amount: Nanos;
  /** By kind, rate and multiplier; before the rounding of each line. */
  readonly components: CostComponent[];
}

export class BatchCost {
  private lines = 0;
  private amount = 0n;
  private usage: TokenUsage = sumUsage([]);
  private readonly components = new Map<string, CostComponent>();

  /** `atMs`: when the batch was made, Unix ms, for rows with peak hours. */
  constructor(
    private readonly rates: PriceRates,
    private readonly atMs: number,
  ) {}

  /** Throws PriceError where the row has no rate for something the line used. */
  add(used: TokenUsage): void {
    const usage = { ...used, serviceTier: BATCH_TIER };
    const { amount, components } = costOf({ usage, rates: this.rates, atMs: this.atMs });
    this.lines += 1;
    this.amount = assertAmount(this.amount + amount);
    this.usage = sumUsage([this.usage, usage]);
    for (const component of components) {
      const key = `${component.kind} ${component.rate} ${component.multiplier ?? ""}`;
      const quantity = (this.components.get(key)?.quantity ?? 0) + component.quantity;
      this.components.set(key, { ...component, quantity });
    }
  }

  total(): BatchTotal {
    const { lines, usage, amount } = this;
    return { lines, usage, amount, components: [...this.components.values()] };
  }
}
