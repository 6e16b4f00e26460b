/**
 * Calls of one organisation that share a script, as databases let transactions share a flush (group commit): a busy
 * gateway pays the round trip, the script and the log once for many calls, a quiet one waits for nobody.
 */

export interface BatchOptions<Item, Result> {
  /** Runs a batch, one result an item in order. What it throws is thrown to each of its items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** A batch this long leaves at once: it bounds how long one script keeps the server. */
  readonly maxItems: number;
  /** How long an item may wait for others, in ms; 0 waits for the end of this turn of the event loop. Asked per batch. */
  readonly waitMs: () => number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batch<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private cancel: (() => void) | undefined;

  constructor(private readonly options: BatchOptions<Item, Result>) {}

  /** Resolves with the item's own result. Rejects with what the whole batch failed with. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.waiting.length >= this.options.maxItems) this.flush();
      else this.cancel ??= this.schedule();
    });
  }

  private schedule(): () => void {
    const flush = (): void => {
      this.flush();
    };
    const waitMs = this.options.waitMs();
    if (waitMs === 0) {
      const immediate = setImmediate(flush);
      return () => {
        clearImmediate(immediate);
      };
    }
    const timer = setTimeout(flush, waitMs);
    return () => {
      clearTimeout(timer);
    };
  }

  /** Sends what waits now. */
  flush(): void {
    this.cancel?.();
    this.cancel = undefined;
    const batch = this.waiting;
    if (batch.length === 0) return;
    this.waiting = [];
    this.options.run(batch.map(({ item }) => item)).then(
      (results) => {
        for (const [index, { resolve, reject }] of batch.entries()) {
          const result = results[index];
          if (result === undefined) reject(new Error("the script answered fewer calls than it was given"));
          else resolve(result);
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }
}

/** Organisations beyond this many share nothing: the oldest batch leaves by its own timer and is forgotten here. */
const MAX_ORGANISATIONS = 10_000;

/** One batch an organisation: its keys live in one slot, another's do not. */
export class OrganisationBatches<Item, Result> {
  private readonly batches = new Map<string, Batch<Item, Result>>();

  constructor(private readonly options: (organisationId: string) => BatchOptions<Item, Result>) {}

  add(organisationId: string, item: Item): Promise<Result> {
    let batch = this.batches.get(organisationId);
    if (!batch) {
      if (this.batches.size >= MAX_ORGANISATIONS) this.batches.clear();
      batch = new Batch(this.options(organisationId));
      this.batches.set(organisationId, batch);
    }
    return batch.add(item);
  }
}
