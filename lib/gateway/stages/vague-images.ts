/** Pictures of which neither request nor answer says what their price goes by. */
import type { PriceRates } from "@/lib/domain/price-rates";
import type { TokenUsage } from "@/lib/domain/usage-event";

type Image = NonNullable<TokenUsage["images"]>[number];

function mayBe(listed: string | undefined, said: string | undefined): boolean {
  return listed === undefined || said === undefined || said === "auto" || listed === said;
}

function isVague({ size, quality }: Image, rates: PriceRates): boolean {
  const fitting = (rates.images ?? []).filter((entry) => mayBe(entry.size, size) && mayBe(entry.quality, quality));
  const isKnown = size !== undefined && size !== "auto" && quality !== undefined && quality !== "auto";
  return !isKnown && new Set(fitting.map(({ perImage, perPixel }) => `${perImage ?? ""} ${perPixel ?? ""}`)).size > 1;
}

/** Whether several prices fit: the dearest is booked then (`lib/pricing/unit-parts.ts`), as an estimate that the bill corrects. */
export function hasVagueImages({ images }: TokenUsage, rates: PriceRates): boolean {
  return images?.some((image) => isVague(image, rates)) === true;
}
