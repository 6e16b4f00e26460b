// Progress as a person wants it: what is being done, and how long each thing took.
export type Say = (line: string) => void;

export interface Outcome<Value> {
  readonly value: Value;
  /** What is worth saying about it. */
  readonly words?: string;
}

export class Steps {
  readonly #say: Say;
  readonly #begunMs: number;

  constructor(say: Say, begunMs = performance.now()) {
    this.#say = say;
    this.#begunMs = begunMs;
  }

  /** Says what goes on if it takes longer than a breath, and what came of it at the end. */
  async run<Value>(name: string, work: () => Promise<Outcome<Value>>): Promise<Value> {
    const started = performance.now();
    const timer = setTimeout(() => this.#say(`      ${name} ...`), 1_500);
    try {
      const { value, words = "" } = await work();
      this.#say(`  ok  ${name.padEnd(10)} ${seconds(started).padStart(6)}  ${words}`.trimEnd());
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  total(): string {
    return seconds(this.#begunMs);
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
