/**
 * What a picture costs in input tokens, by the vendors' published rules. Where sources disagree, all rules are listed and
 * the dearest counts: this is for holds, usage settles. Factors are data; a vendor's change is a change of this table.
 */
import type { ImageSize } from "./image-size";
import type { Vendor } from "./families";

export type ImageDetail = "low" | "high" | "original" | "auto";

type ImageRule =
  /** OpenAI's tiles: fit into 2048 x 2048, then the short side to 768, then 512-pixel tiles. `low` is the base alone. */
  | { readonly kind: "tiles"; readonly base: number; readonly perTile: number }
  /** Square patches, the picture shrunk until they are within the budget, times a factor (in hundredths). */
  | {
      readonly kind: "patches";
      readonly pixels: number;
      readonly budget: number;
      readonly factorPercent: number;
      readonly extra: number;
    }
  /** Anthropic: patches of 28 pixels in newer documents, area / 750 in older ones; long edge and tokens capped. */
  | { readonly kind: "area"; readonly longEdge: number; readonly most: number }
  /** Gemini: 258 tokens a crop, crops of 256 to 768 pixels; from 3 on by resolution class instead. */
  | { readonly kind: "crops"; readonly least: number };

const tiles = (base: number, perTile: number): ImageRule => ({ kind: "tiles", base, perTile });
const patches = (pixels: number, budget: number, factorPercent: number, extra = 0): ImageRule => ({
  kind: "patches",
  pixels,
  budget,
  factorPercent,
  extra,
});

/**
 * Sources: OpenAI "Images and vision" (tiles, patches, budgets 1,536, 2,500 and 10,000), the community's measurements of
 * billed tokens where they are higher; Anthropic "Vision" (1,568 and 2,576 pixels, about 1,600 and 4,784 tokens); Gemini
 * "Understand and count tokens" and "Media resolution" (up to 2,240); Qwen-VL's preprocessor (28 or 32 pixels, 16,384).
 */
const OPENAI: readonly (readonly [RegExp, readonly ImageRule[]])[] = [
  [/gpt-4o-mini/u, [tiles(2833, 5667)]],
  [/gpt-4\.1-mini/u, [patches(32, 1536, 162)]],
  [/gpt-4\.1-nano/u, [patches(32, 1536, 246)]],
  [/o4-mini|codex-mini/u, [patches(32, 1536, 172)]],
  [/gpt-5-mini/u, [patches(32, 1536, 162)]],
  [/gpt-5-nano/u, [patches(32, 1536, 246)]],
  [/gpt-5(?:\.[0-3])?(?![.\d])(?!.*(?:mini|nano))/u, [tiles(70, 140), patches(32, 1536, 120)]],
  [/gpt-5\.\d+.*nano/u, [patches(32, 2500, 246)]],
  [/gpt-5\.\d+.*mini/u, [patches(32, 2500, 162)]],
  [/gpt-5\.\d+/u, [patches(32, 10_000, 120)]],
  [/\bo[13](?:-|$)/u, [tiles(75, 150)]],
  [/computer-use/u, [tiles(65, 129)]],
  [/gpt-4/u, [tiles(85, 170)]],
];
const ANTHROPIC_NEW: readonly ImageRule[] = [{ kind: "area", longEdge: 2576, most: 4800 }];
const ANTHROPIC: readonly ImageRule[] = [{ kind: "area", longEdge: 1568, most: 1600 }];
const OTHERS: Readonly<Record<Exclude<Vendor, "anthropic">, readonly ImageRule[]>> = {
  openai: [patches(32, 10_000, 246)],
  gemini: [{ kind: "crops", least: 2240 }],
  // Small pictures are blown up to 64 patches, and two tokens frame each.
  qwen: [patches(28, 16_384, 100, 66)],
  deepseek: [patches(14, 50_000, 100)],
  // The finest patch in use without merging; no vendor's documents allow as many tokens for one picture.
  other: [patches(14, 50_000, 100)],
};

/** Sizes after scaling are whole pixels at some vendors and not at others: up, but not for a rounding error. */
function up(value: number): number {
  return Math.ceil(value - 1e-6);
}

function tileCount({ width, height }: ImageSize): number {
  const fit = Math.min(1, 2048 / Math.max(width, height));
  const short = Math.min(1, 768 / (Math.min(width, height) * fit));
  return up((width * fit * short) / 512) * up((height * fit * short) / 512);
}

/** OpenAI's second shrink makes whole patches of one side, which keeps the product within the budget. */
function patchCount({ width, height }: ImageSize, pixels: number, budget: number): number {
  const plain = up(width / pixels) * up(height / pixels);
  if (plain <= budget) return plain;
  const shrink = Math.sqrt((budget * pixels * pixels) / (width * height));
  const across = (width * shrink) / pixels;
  const down = (height * shrink) / pixels;
  const again = Math.min(Math.floor(across) / across, Math.floor(down) / down);
  if (again <= 0) return budget;
  return Math.min(budget, up(across * again) * up(down * again));
}

function areaTokens({ width, height }: ImageSize, longEdge: number, most: number): number {
  const scale = Math.min(1, longEdge / Math.max(width, height));
  const [across, down] = [width * scale, height * scale];
  return Math.min(most, Math.max(up(across / 28) * up(down / 28), up((across * down) / 750)));
}

function crops({ width, height }: ImageSize): number {
  if (width <= 384 && height <= 384) return 1;
  const scale = Math.min(1, 3072 / Math.max(width, height));
  const [across, down] = [width * scale, height * scale];
  const unit = Math.min(768, Math.max(256, Math.floor(Math.min(across, down) / 1.5)));
  return up(across / unit) * up(down / unit);
}

/** Tokens of a picture; without a size the most that the rule allows for any. */
function byRule(rule: ImageRule, size: ImageSize | undefined, detail: ImageDetail): number {
  switch (rule.kind) {
    case "tiles":
      return rule.base + (detail === "low" ? 0 : rule.perTile * (size ? tileCount(size) : 8));
    case "patches":
      return (
        Math.ceil(((size ? patchCount(size, rule.pixels, rule.budget) : rule.budget) * rule.factorPercent) / 100) +
        rule.extra
      );
    case "area":
      return size ? areaTokens(size, rule.longEdge, rule.most) : rule.most;
    case "crops":
      return Math.max(rule.least, 258 * (size ? crops(size) : 24));
  }
}

function rulesOf(vendor: Vendor, model: string, familyId: string): readonly ImageRule[] {
  if (vendor === "anthropic") return familyId === "claude" ? ANTHROPIC : ANTHROPIC_NEW;
  if (vendor !== "openai") return OTHERS[vendor];
  return OPENAI.find(([pattern]) => pattern.test(model))?.[1] ?? OTHERS.openai;
}

export interface ImageModel {
  /** In lower case. */
  readonly name: string;
  readonly vendor: Vendor;
  readonly familyId: string;
}

/** Input tokens of one picture at the most. `size` undefined: a remote picture or an unknown format. */
export function imageTokens(model: ImageModel, size: ImageSize | undefined, detail: ImageDetail): number {
  const rules = rulesOf(model.vendor, model.name, model.familyId);
  return Math.max(...rules.map((rule) => byRule(rule, size, detail)));
}
