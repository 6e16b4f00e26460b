/**
 * Calls of one organisation that share a script, as databases let transactions share a flush (group commit): a busy
 * gateway pays the round trip, the script and the log once for many calls, a quiet one waits for nobody.
 */

export interface BatchOptions {
  /** A batch this long leaves at once: it bounds how long one script keeps the server. */
  readonly maxItems: number;
  /** How long an item may wait for others, in ms; 0 waits for the end of this turn of the event loop. Asked per batch. */
  readonly waitMs: () => number;
}

/** Gathers items and lets them go together. */
abstract class Gathering<Item> {
  private items: Item[] = [];
  private cancel: (() => void) | undefined;

  constructor(private readonly options: BatchOptions) {}

  protected abstract send(items: readonly Item[]): void;

  protected gather(item: Item): void {
    this.items.push(item);
    if (this.items.length >= this.options.maxItems) this.flush();
    else this.cancel ??= this.schedule();
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

  private flush(): void {
    this.cancel?.();
    this.cancel = undefined;
    const { items } = this;
    this.items = [];
    this.send(items);
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Each item has a result of its own. What `run` throws is thrown to each of its items. */
export class Batch<Item, Result> extends Gathering<Waiting<Item, Result>> {
  constructor(
    options: BatchOptions,
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
  ) {
    super(options);
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.gather({ item, resolve, reject });
    });
  }

  protected send(batch: readonly Waiting<Item, Result>[]): void {
    this.run(batch.map(({ item }) => item)).then(
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

/** All items of a batch share one promise, which resolves when `run` is through with them, whatever became of it. */
export class JointBatch<Item> extends Gathering<Item> {
  private joint: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  constructor(
    options: BatchOptions,
    private readonly run: (items: readonly Item[]) => Promise<void>,
  ) {
    super(options);
  }

  add(item: Item): Promise<void> {
    if (!this.joint) {
      let end: () => void = () => undefined;
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.joint = { over, end };
    }
    const { over } = this.joint;
    this.gather(item);
    return over;
  }

  protected send(items: readonly Item[]): void {
    const { joint } = this;
    this.joint = undefined;
    this.run(items)
      .catch(() => undefined)
      .finally(() => joint?.end());
  }
}

/** Organisations beyond this many share nothing: the oldest batch leaves by its own timer and is forgotten here. */
const MAX_ORGANISATIONS = 10_000;

/** One batch an organisation: its keys live in one slot, another's do not. */
export class PerOrganisation<Gatherer> {
  private readonly gatherers = new Map<string, Gatherer>();

  constructor(private readonly make: (organisationId: string) => Gatherer) {}

  of(organisationId: string): Gatherer {
    const known = this.gatherers.get(organisationId);
    if (known) return known;
    if (this.gatherers.size >= MAX_ORGANISATIONS) this.gatherers.clear();
    const fresh = this.make(organisationId);
    this.gatherers.set(organisationId, fresh);
    return fresh;
  }
}
