/** What differs between two policy documents, setting by setting. Pure. */
import type { PolicyDocument } from "@/lib/domain/policy";

export interface PolicyDifference {
  /** The setting: "ladders", "answerKeepSeconds". */
  readonly setting: keyof PolicyDocument;
  /** Below it: "monthly.rungs[2].actions.core.kind"; empty for the setting itself. */
  readonly path: string;
  /** null: not said. */
  readonly before: string | null;
  readonly after: string | null;
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

export function diffPolicies(before: PolicyDocument, after: PolicyDocument): readonly PolicyDifference[] {
  const settings = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof PolicyDocument)[];
  return settings.flatMap((setting) => {
    const [was, is] = [new Map<string, string>(), new Map<string, string>()];
    leavesOf(before[setting], "", was);
    leavesOf(after[setting], "", is);
    return [...new Set([...was.keys(), ...is.keys()])]
      .filter((path) => was.get(path) !== is.get(path))
      .map((path) => ({ setting, path, before: was.get(path) ?? null, after: is.get(path) ?? null }));
  });
}
