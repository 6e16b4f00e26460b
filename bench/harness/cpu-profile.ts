/** Where a Node process spent its time: self time by function and by file, from a .cpuprofile, through source maps. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { tableText } from "./table";

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds since the last sample. */
  readonly timeDeltas: readonly number[];
}

const ROOT = join(import.meta.dirname, "..", "..");

/** Turns a place in a bundle into one in its sources. */
function createMapper(): (frame: ProfileNode["callFrame"]) => string {
  const maps = new Map<string, SourceMap | null>();
  const mapOf = (file: string): SourceMap | null => {
    const known = maps.get(file);
    if (known !== undefined) return known;
    const path = `${file}.map`;
    const map = existsSync(path)
      ? new SourceMap(JSON.parse(readFileSync(path, "utf8")) as ConstructorParameters<typeof SourceMap>[0])
      : null;
    maps.set(file, map);
    return map;
  };
  return ({ url, lineNumber, columnNumber }) => {
    if (!url.startsWith("file://")) return url;
    const file = fileURLToPath(url);
    const entry = mapOf(file)?.findEntry(lineNumber, columnNumber);
    if (entry && "originalSource" in entry) {
      return `${relative(ROOT, resolve(dirname(file), entry.originalSource))}:${String(entry.originalLine + 1)}`;
    }
    return `${relative(ROOT, file)}:${String(lineNumber + 1)}`;
  };
}

/** Arguments of Node that write `<name>.cpuprofile` into the folder when the process ends. */
export function profileArgs(folder: string, name: string): string[] {
  return ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}

/**
 * Tables of a profile. Times are of the wall clock, the start of the process included: on a busy machine they are larger
 * than the processor time, and their shares are what counts.
 */
export function profileText(folder: string, name: string, top: number): string {
  const file = join(folder, `${name}.cpuprofile`);
  if (!existsSync(file)) return `${name} wrote no profile`;
  const profile = JSON.parse(readFileSync(file, "utf8")) as Profile;
  const selfMicros = new Map<number, number>();
  profile.samples.forEach((id, index) =>
    selfMicros.set(id, (selfMicros.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0)),
  );
  const placeOf = createMapper();
  const byFunction = new Map<string, number>();
  const byFile = new Map<string, number>();
  let busy = 0;
  for (const { id, callFrame } of profile.nodes) {
    const micros = selfMicros.get(id) ?? 0;
    const name = callFrame.functionName === "" ? "(anonymous)" : callFrame.functionName;
    if (micros === 0 || name === "(idle)") continue;
    busy += micros;
    const place = placeOf(callFrame);
    const fileName = place.replace(/:\d+$/u, "");
    byFunction.set(`${name}  ${place}`, (byFunction.get(`${name}  ${place}`) ?? 0) + micros);
    byFile.set(fileName === "" ? name : fileName, (byFile.get(fileName === "" ? name : fileName) ?? 0) + micros);
  }
  const rowsOf = (sums: ReadonlyMap<string, number>) =>
    [...sums]
      .sort((a, b) => b[1] - a[1])
      .slice(0, top)
      .map(([name, micros]) => [name, (micros / 1000).toFixed(0), `${((micros / busy) * 100).toFixed(1)} %`]);
  const head = ["self ms", "share"];
  const functions = tableText([`${name}: function`, ...head], rowsOf(byFunction));
  return functions + tableText([`${name}: file`, ...head], rowsOf(byFile));
}
