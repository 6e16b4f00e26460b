/** What differs between two policy documents, setting by setting. Pure. */
import type { Action, PolicyDocument } from "@/lib/domain/policy";

/** Where in a ladder: a rung is known by its mark, so that one put between others does not make all above it differ. */
export interface LadderPlace {
  readonly ladder: string;
  /** null: of the ladder itself. */
  readonly atBasisPoints: number | null;
  /** A traffic class, `*` for the others, or "name" and "overflow". */
  readonly part: string;
}

export interface PolicyDifference {
  /** The setting: "ladders", "answerKeepSeconds". */
  readonly setting: keyof PolicyDocument;
  /** Below it: "monthly.rungs[2].actions.core.kind"; empty for the setting itself. */
  readonly path: string;
  /** null: not said. */
  readonly before: string | null;
  readonly after: string | null;
  /** For ladders: `path` in parts. The values are action kinds, with their numbers behind a blank. */
  readonly place?: LadderPlace;
}

/** Lists of names read as one thing; everything else is taken apart to its leaves. */
function leavesOf(value: unknown, path: string, found: Map<string, string>): void {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) found.set(path, value.join(", "));
  else if (Array.isArray(value))
    value.forEach((one: unknown, index) => {
      leavesOf(one, `${path}[${String(index)}]`, found);
    });
  else if (typeof value === "object" && value !== null)
    for (const [name, one] of Object.entries(value)) leavesOf(one, path === "" ? name : `${path}.${name}`, found);
  else if (typeof value === "string") found.set(path, value);
  else if (typeof value === "number" || typeof value === "boolean") found.set(path, String(value));
}

function actionText({ kind, cacheThreshold, retryAfterSeconds }: Action): string {
  return [kind, cacheThreshold, retryAfterSeconds === undefined ? undefined : `${String(retryAfterSeconds)}s`]
    .filter((part) => part !== undefined)
    .join(" ");
}

type Leaf = readonly [place: LadderPlace, value: string];

function ladderLeaves(ladders: PolicyDocument["ladders"]): Leaf[] {
  return Object.entries(ladders ?? {}).flatMap(([ladder, { rungs, overflow }]): Leaf[] => [
    [{ ladder, atBasisPoints: null, part: "overflow" }, overflow],
    ...rungs.flatMap(({ atBasisPoints, name, actions }): Leaf[] => [
      [{ ladder, atBasisPoints, part: "name" }, name],
      ...Object.entries(actions).map(([part, action]): Leaf => [{ ladder, atBasisPoints, part }, actionText(action)]),
    ]),
  ]);
}

function pathOf({ ladder, atBasisPoints, part }: LadderPlace): string {
  return atBasisPoints === null ? `${ladder}.${part}` : `${ladder}.${String(atBasisPoints / 100)}%.${part}`;
}

function diffLadders(before: PolicyDocument["ladders"], after: PolicyDocument["ladders"]): PolicyDifference[] {
  const byPath = (leaves: readonly Leaf[]) => new Map(leaves.map((leaf) => [pathOf(leaf[0]), leaf]));
  const [was, is] = [byPath(ladderLeaves(before)), byPath(ladderLeaves(after))];
  return [...new Map([...was, ...is])]
    .map(([path, [place]]): PolicyDifference => {
      return { setting: "ladders", path, place, before: was.get(path)?.[1] ?? null, after: is.get(path)?.[1] ?? null };
    })
    .filter((one) => one.before !== one.after)
    .sort((one, other) => (one.place?.atBasisPoints ?? -1) - (other.place?.atBasisPoints ?? -1));
}

export function diffPolicies(before: PolicyDocument, after: PolicyDocument): readonly PolicyDifference[] {
  const settings = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof PolicyDocument)[];
  return settings.flatMap((setting) => {
    if (setting === "ladders") return diffLadders(before.ladders, after.ladders);
    const [was, is] = [new Map<string, string>(), new Map<string, string>()];
    leavesOf(before[setting], "", was);
    leavesOf(after[setting], "", is);
    return [...new Set([...was.keys(), ...is.keys()])]
      .filter((path) => was.get(path) !== is.get(path))
      .map((path) => ({ setting, path, before: was.get(path) ?? null, after: is.get(path) ?? null }));
  });
}
