/** A map with a maximum and an end for every entry. The longest unused entry makes room. Pure: time is passed in. */
export class BoundedCache<Value> {
  /** In the order of last use. */
  private readonly entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();

  constructor(private readonly maxEntries: number) {}

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    if (nowMs >= entry.untilMs) return undefined;
    this.entries.set(key, entry);
    return entry.value;
  }

  /** `untilMs` is Unix ms, exclusive. */
  set(key: string, value: Value, untilMs: number): void {
    this.entries.delete(key);
    if (this.entries.size >= this.maxEntries) {
      const oldest = this.entries.keys().next();
      if (oldest.done !== true) this.entries.delete(oldest.value);
    }
    this.entries.set(key, { value, untilMs });
  }

  get size(): number {
    return this.entries.size;
  }
}
