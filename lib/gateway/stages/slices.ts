/**
 * Holds that follow a stream. A token has at least one byte in every tokenizer that is used (`lib/estimate`), so the bytes that came
 * are a bound of the tokens that were made and seen; what was made and has not come yet is the margin. What is passed on is
 * always covered: bytes that came + margin <= tokens held. Once the hold is of the whole call nothing is asked any more, since
 * the provider keeps to the cap in the request.
 */
import type { ReserveBudgetLine } from "../ports";
import type { RouteRequest } from "../wire/routes/route-request";
import type { ServingFacts } from "../serving";
import type { Estimate } from "./estimate";
import { estimatePart } from "./estimate";
import { showsAllOutput } from "./visible-output";

export interface SliceSettings {
  readonly sliceTokens: number;
  readonly marginTokens: number;
}

/** The margin is of each choice, and a slice has room for as much again. */
function sizesOf({ choices }: RouteRequest, { sliceTokens, marginTokens }: SliceSettings) {
  const marginOfAll = marginTokens * choices;
  return { marginTokens: marginOfAll, sliceTokens: Math.max(sliceTokens, 2 * marginOfAll) };
}

/** What is held at first, by plan. Plans that share an estimate share its slice. */
export function firstSlices(
  request: RouteRequest,
  servings: readonly (ServingFacts | undefined)[],
  wholes: readonly (Estimate | undefined)[],
  settings: SliceSettings,
): readonly (Estimate | undefined)[] {
  const known = new Map<Estimate, Estimate>();
  const { sliceTokens } = sizesOf(request, settings);
  return wholes.map((whole, plan) => {
    const serving = servings[plan];
    if (!whole || !serving || !showsAllOutput(request, serving)) return whole;
    const first = known.get(whole) ?? estimatePart(request, serving, whole, sliceTokens);
    known.set(whole, first);
    return first;
  });
}

/** How much of a call is held by now. */
export class Slices {
  /** Number of the last extension. */
  sequence = 0;
  readonly marginTokens: number;
  readonly sliceTokens: number;

  constructor(
    private readonly request: RouteRequest,
    private readonly serving: ServingFacts,
    private current: Estimate,
    private readonly whole: Estimate,
    settings: SliceSettings,
    public isOverflow: boolean,
  ) {
    ({ marginTokens: this.marginTokens, sliceTokens: this.sliceTokens } = sizesOf(request, settings));
  }

  get held(): Estimate {
    return this.current;
  }

  get isWhole(): boolean {
    return this.current.outputTokens >= this.whole.outputTokens;
  }

  /** Output tokens held beyond what came and the margin; negative where that is not covered. */
  left(outputBytes: number): number {
    return this.isWhole ? Number.POSITIVE_INFINITY : this.current.outputTokens - this.marginTokens - outputBytes;
  }

  /** The hold with so many output tokens. Rates that fall with the length of an answer give nothing back. */
  raised(outputTokens: number): Estimate {
    const next = estimatePart(this.request, this.serving, this.whole, Math.ceil(outputTokens));
    const { cost } = this.current;
    return next.cost >= cost ? next : { ...next, cost, amounts: { ...next.amounts, cost } };
  }

  /** What each line is to hold more; null where the call does not charge it. */
  difference(next: Estimate, lines: readonly ReserveBudgetLine[], charges: readonly boolean[]): (string | null)[] {
    const { amounts } = this.current;
    return lines.map(({ meter, session }, index) =>
      charges[index] || session ? String(next.amounts[meter] - amounts[meter]) : null,
    );
  }

  taken(next: Estimate, isOverflow: boolean): void {
    this.current = next;
    this.sequence += 1;
    this.isOverflow = isOverflow;
  }
}
