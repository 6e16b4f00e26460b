/** One run of a bench: what it says while it works, its verdict, and the end of everything it started. */
import { StopList } from "@/scripts/stack/stack";

export interface Verdict {
  /** "0 nanos over" */
  readonly figure: string;
  /** "0" */
  readonly bar: string;
  readonly isPass: boolean;
}

export interface BenchSession {
  readonly name: string;
  /** Words after the name on the command line. */
  readonly flags: ReadonlySet<string>;
  /** What has to be taken down, last started first. */
  readonly stops: StopList;
  readonly say: (line: string) => void;
}

/** What every `bench/<name>.ts` exports as `bench`. */
export type Bench = (session: BenchSession) => Promise<Verdict>;

/** Runs the bench, prints its verdict as the last line and returns the exit code. Everything is down by then. */
export async function runBench(name: string, flags: readonly string[], bench: Bench): Promise<number> {
  const stops = new StopList();
  const startedMs = performance.now();
  const say = (line: string): void => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(line.includes("\n") || line === "" ? line : `[${seconds.padStart(5)} s] ${line}`);
  };
  endOnSignals(stops);
  let verdict: Verdict | undefined;
  try {
    verdict = await bench({ name, flags: new Set(flags), stops, say });
  } catch (error) {
    // After Ctrl-C everything fails because it is being taken down; that is no news.
    if (!stops.stopping) console.error(error);
  }
  await stops.run();
  const { figure, bar, isPass } = verdict ?? { figure: "no figure", bar: "a run to the end", isPass: false };
  console.log(`${name}: ${figure} (bar ${bar}) ${isPass ? "pass" : "fail"}`);
  return isPass ? 0 : 1;
}

function endOnSignals(stops: StopList): void {
  const end = (): void => {
    // The second time the person is in earnest; the leash ends whatever is left.
    if (stops.stopping) process.exit(130);
    console.log("Stopping ...");
    void stops.run().then(() => process.exit(130));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
}
