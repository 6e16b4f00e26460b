// Progress as a person wants it: what is being done, and how long each thing took.
export type Say = (line: string) => void;

export class Steps {
  readonly #say: Say;
  readonly #started = performance.now();

  constructor(say: Say) {
    this.#say = say;
  }

  /** Says what goes on if it takes longer than a breath, and what came of it at the end. */
  async run<Result>(
    name: string,
    work: () => Promise<Result> | Result,
    outcome?: (result: Result) => string,
  ): Promise<Result> {
    const started = performance.now();
    const timer = setTimeout(() => this.#say(`      ${name} ...`), 1_500);
    try {
      const result = await work();
      const words = outcome?.(result) ?? "";
      this.#say(`  ok  ${name.padEnd(10)} ${seconds(started).padStart(6)}  ${words}`.trimEnd());
      return result;
    } finally {
      clearTimeout(timer);
    }
  }

  total(): string {
    return seconds(this.#started);
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
