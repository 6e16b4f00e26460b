/** The end of a value axis: a round number a little above the largest value, so that ticks are round too. */
export function niceTop(largest: number): number {
  if (!Number.isFinite(largest) || largest <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(largest));
  const tops = [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10, 12].map((factor) => factor * step);
  return tops.find((top) => top >= largest * 1.04) ?? largest * 1.2;
}
