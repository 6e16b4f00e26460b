/**
 * What settled calls teach about estimates: the ratio measured / estimated of a model, its mean and a high quantile, both
 * fading so that a changed model is forgotten. Bounded: a fixed histogram a model, a fixed number of models.
 *
 * It may correct guesses (`guessFactor`, up or down) and counts (`holdFactor`, never below 1 of what was counted). Hard
 * bounds are never corrected: what exceeds one is a fault to be found, not a number to be learned.
 */

const BUCKETS_PER_OCTAVE = 16;
const OCTAVES = 3;
const BUCKETS = 2 * OCTAVES * BUCKETS_PER_OCTAVE + 1;
const MIDDLE = OCTAVES * BUCKETS_PER_OCTAVE;
/** The weight of a call halves with every so many later ones. */
const HALF_LIFE_CALLS = 500;
const GROWTH = 2 ** (1 / HALF_LIFE_CALLS);
const RESCALE_AT = 1e9;
/** Of a small prompt the framing is most: its ratio says nothing about texts. */
const LEAST_TOKENS = 64;
/** Calls before anything is believed. */
const LEAST_CALLS = 100;
const QUANTILE = 0.995;
const MAX_MODELS = 1000;

class Ratios {
  calls = 0;
  private weight = 1;
  private total = 0;
  private estimated = 0;
  private measured = 0;
  private readonly histogram = new Float64Array(BUCKETS);

  add(estimated: number, measured: number): void {
    this.calls += 1;
    this.weight *= GROWTH;
    this.total += this.weight;
    this.estimated += this.weight * estimated;
    this.measured += this.weight * measured;
    // A bucket holds ratios up to and with its upper edge, so that 1 is an edge.
    const bucket = Math.ceil(Math.log2(measured / estimated) * BUCKETS_PER_OCTAVE - 1e-9) + MIDDLE;
    const at = Math.min(BUCKETS - 1, Math.max(0, bucket));
    this.histogram[at] = (this.histogram[at] ?? 0) + this.weight;
    if (this.weight > RESCALE_AT) this.rescale();
  }

  private rescale(): void {
    const by = 1 / this.weight;
    this.weight = 1;
    this.total *= by;
    this.estimated *= by;
    this.measured *= by;
    this.histogram.forEach((value, at) => {
      this.histogram[at] = value * by;
    });
  }

  /** Weighted by tokens. */
  mean(): number {
    return this.measured / this.estimated;
  }

  /** Upper edge of the bucket in which the quantile lies. */
  high(): number {
    let below = 0;
    for (let at = 0; at < BUCKETS; at += 1) {
      below += this.histogram[at] ?? 0;
      if (below >= this.total * QUANTILE) return 2 ** ((at - MIDDLE) / BUCKETS_PER_OCTAVE);
    }
    return 2 ** OCTAVES;
  }
}

export interface Correction {
  readonly calls: number;
  readonly mean: number;
  readonly high: number;
}

export class CorrectionBook {
  private readonly models = new Map<string, Ratios>();

  /** Notes a settled call: tokens by the usage, and what was estimated (the uncorrected number). */
  record(model: string, estimated: number, measured: number): void {
    if (!(estimated >= LEAST_TOKENS) || !(measured > 0)) return;
    const ratios = this.models.get(model) ?? new Ratios();
    // The one not heard of for longest makes room.
    this.models.delete(model);
    this.models.set(model, ratios);
    ratios.add(estimated, measured);
    const [oldest] = this.models.keys();
    if (this.models.size > MAX_MODELS && oldest !== undefined) this.models.delete(oldest);
  }

  /** Undefined until enough calls are known. */
  of(model: string): Correction | undefined {
    const ratios = this.models.get(model);
    if (!ratios || ratios.calls < LEAST_CALLS) return undefined;
    return { calls: ratios.calls, mean: ratios.mean(), high: ratios.high() };
  }

  /** What counted tokens are multiplied by for a hold: the learned quantile, else the stated margin. At least 1. */
  holdFactor(model: string, marginPercent: number): number {
    return Math.max(1, this.of(model)?.high ?? marginPercent / 100);
  }

  /** What a guess is multiplied by. */
  guessFactor(model: string): number {
    return this.of(model)?.mean ?? 1;
  }
}
