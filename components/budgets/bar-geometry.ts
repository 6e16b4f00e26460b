/** Where things stand on a budget's bar. Pure. Positions are percentages of the bar's width. */

export interface BarInput {
  readonly spent: bigint;
  readonly held: bigint;
  /** Limit with grants. */
  readonly limit: bigint;
  readonly marksBasisPoints: readonly number[];
}

export interface BarGeometry {
  readonly spent: number;
  readonly held: number;
  /** Where 100 % of the limit stands: inside the bar, so that what goes past it can be seen. */
  readonly limit: number;
  readonly marks: readonly { readonly basisPoints: number; readonly position: number }[];
}

/** The bar shows a little more than the limit, and more when spending went past it. */
const HEADROOM_BASIS_POINTS = 10_400n;
const SCALE = 1_000_000n;

export function barGeometry({ spent, held, limit, marksBasisPoints }: BarInput): BarGeometry {
  if (limit <= 0n)
    return { spent: spent > 0n ? 100 : 0, held: spent > 0n || held <= 0n ? 0 : 100, limit: 0, marks: [] };
  const used = spent + held;
  const least = (limit * HEADROOM_BASIS_POINTS) / 10_000n;
  const whole = used > least ? used : least;
  const share = (part: bigint): number => Number(((part < 0n ? 0n : part) * SCALE) / whole) / 10_000;
  return {
    spent: share(spent),
    held: share(held),
    limit: share(limit),
    marks: marksBasisPoints
      .map((basisPoints) => ({ basisPoints, position: share((limit * BigInt(basisPoints)) / 10_000n) }))
      .filter((mark) => mark.position <= 100),
  };
}

export type RungTone = "calm" | "warn" | "downgrade" | "protect" | "exhausted";

/** Colour of a usage: which of the ladder's marks it has passed, seen from the top. Without a ladder only the limit counts. */
export function toneOf(usedBasisPoints: number | null, marksBasisPoints: readonly number[]): RungTone {
  if (usedBasisPoints === null || usedBasisPoints >= 10_000) return "exhausted";
  const passed = marksBasisPoints.filter((mark) => usedBasisPoints >= mark).length;
  if (passed === 0) return "calm";
  if (passed === 1) return "warn";
  return passed === 2 ? "downgrade" : "protect";
}
