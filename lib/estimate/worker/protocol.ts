/** Messages between the pool and its thread. */
import type { Encoding } from "../families";
import type { TextCount } from "../tokenizers";

export interface WorkerData {
  /** Folders from which packages are looked for, in order. */
  readonly packageRoots: readonly string[];
}

export interface WorkerJob {
  readonly id: number;
  readonly encoding: Encoding;
  /** Empty: only load the tokenizer. */
  readonly texts: readonly string[];
}

export interface WorkerAnswer {
  readonly id: number;
  /** Null where the tokenizer could not be loaded or failed. */
  readonly count: TextCount | null;
}
