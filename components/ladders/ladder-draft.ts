/** A ladder as its form holds it: texts as typed, and keys that survive what is added and removed above. Pure. */
import { issuesByPath } from "@/components/format/checked";
import { ladderName, ladderSchema, TRAFFIC_CLASSES } from "@/lib/domain/policy";
import type { Action, ActionKind, Ladder, PolicyDocument } from "@/lib/domain/policy";

/** `kind` "": the class gets what the others get. */
export interface ActionDraft {
  readonly kind: ActionKind | "";
  readonly cacheThreshold: string;
  readonly retryAfterSeconds: string;
}

export interface RungDraft {
  readonly key: string;
  /** Percent of the budget. */
  readonly at: string;
  readonly name: string;
  /** By traffic class; `*` stands for the others. */
  readonly actions: Readonly<Record<string, ActionDraft>>;
}

export interface LadderDraft {
  readonly key: string;
  readonly name: string;
  /** Budgets may name it already: its name stays. */
  readonly isNew: boolean;
  readonly overflow: Ladder["overflow"];
  readonly rungs: readonly RungDraft[];
}

export const OTHERS = "*";
const NO_ACTION: ActionDraft = { kind: "", cacheThreshold: "", retryAfterSeconds: "" };

function numberText(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function actionDraft({ kind, cacheThreshold, retryAfterSeconds }: Action): ActionDraft {
  return { kind, cacheThreshold: numberText(cacheThreshold), retryAfterSeconds: numberText(retryAfterSeconds) };
}

export function actionOf(rung: RungDraft, trafficClass: string): ActionDraft {
  return rung.actions[trafficClass] ?? NO_ACTION;
}

export function ladderDraft(name: string, ladder: Ladder, isNew: boolean): LadderDraft {
  const rungs = ladder.rungs.map((rung, index) => ({
    key: `r${String(index)}`,
    at: String(rung.atBasisPoints / 100),
    name: rung.name,
    actions: Object.fromEntries(Object.entries(rung.actions).map(([one, action]) => [one, actionDraft(action)])),
  }));
  return { key: name, name, isNew, overflow: ladder.overflow, rungs };
}

export function laddersOf(document: PolicyDocument): LadderDraft[] {
  return Object.entries(document.ladders ?? {}).map(([name, ladder]) => ladderDraft(name, ladder, false));
}

/** One more than the highest number in use, so that a key is never used again for another. */
function freeKey(prefix: string, keys: readonly string[]): string {
  const numbers = keys.map((key) => Number(key.slice(prefix.length))).filter((number) => Number.isInteger(number));
  return `${prefix}${String(Math.max(-1, ...numbers) + 1)}`;
}

/** A ladder of its own key, from a template. */
export function addedLadder(ladders: readonly LadderDraft[], name: string, template: Ladder): LadderDraft[] {
  const names = ladders.map((one) => one.name);
  const free = names.includes(name)
    ? Array.from({ length: names.length + 1 }, (_, index) => `${name}-${String(index + 2)}`).find(
        (one) => !names.includes(one),
      )
    : name;
  const key = freeKey(
    "new-",
    ladders.map((one) => one.key),
  );
  return [...ladders, { ...ladderDraft(free ?? name, template, true), key }];
}

/** A rung half-way between this one and the next, with what this one does. */
export function addedRung(ladder: LadderDraft, after: number): LadderDraft {
  const [below, above] = [ladder.rungs[after], ladder.rungs[after + 1]];
  if (below === undefined) return ladder;
  const [from, to] = [basisPointsOf(below.at) ?? 0, basisPointsOf(above?.at ?? "") ?? null];
  const at = to === null ? from + 100 : Math.floor((from + to) / 2);
  const key = freeKey(
    "r",
    ladder.rungs.map((rung) => rung.key),
  );
  const rung = { ...below, key, at: String(at / 100), name: "" };
  return { ...ladder, rungs: [...ladder.rungs.slice(0, after + 1), rung, ...ladder.rungs.slice(after + 1)] };
}

export function basisPointsOf(percent: string): number | undefined {
  const match = /^(\d{1,4})(?:[.,](\d{1,2}))?$/u.exec(percent.trim().replace(/\s*%$/u, ""));
  return match === null ? undefined : Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0"));
}

/** NaN is what the schema calls malformed. */
function numberOf(text: string): number | undefined {
  const plain = text.trim();
  if (plain === "") return undefined;
  return /^\d{1,6}(?:\.\d{1,6})?$/u.test(plain) ? Number(plain) : Number.NaN;
}

function toAction({ kind, cacheThreshold, retryAfterSeconds }: ActionDraft): unknown {
  const [threshold, retryAfter] = [numberOf(cacheThreshold), numberOf(retryAfterSeconds)];
  return {
    kind,
    ...(threshold === undefined ? {} : { cacheThreshold: threshold }),
    ...(retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }),
  };
}

function toLadder(draft: LadderDraft): unknown {
  return {
    overflow: draft.overflow,
    rungs: draft.rungs.map((rung) => ({
      atBasisPoints: basisPointsOf(rung.at) ?? Number.NaN,
      name: rung.name.trim(),
      actions: Object.fromEntries(
        Object.entries(rung.actions)
          .filter(([, action]) => action.kind !== "")
          .map(([one, action]) => [one, toAction(action)]),
      ),
    })),
  };
}

export interface CheckedLadders {
  readonly ladders: Readonly<Record<string, Ladder>>;
  /** By `errorPath`. */
  readonly errors: Readonly<Record<string, string>>;
}

/** Where the form looks for the error of one of its fields. */
export function errorPath(ladder: LadderDraft, path: string): string {
  return `ladders/${ladder.key}/${path}`;
}

/** The ladders that the form says, by the contract's own schema; what is at fault is left out and named. */
export function toLadders(drafts: readonly LadderDraft[]): CheckedLadders {
  const errors: Record<string, string> = {};
  const ladders = new Map<string, Ladder>();
  for (const draft of drafts) {
    const name = ladderName.safeParse(draft.name.trim());
    if (!name.success) errors[errorPath(draft, "name")] = name.error.issues[0]?.message ?? "invalid";
    else if (ladders.has(name.data)) errors[errorPath(draft, "name")] = "name_taken";
    const ladder = ladderSchema.safeParse(toLadder(draft));
    if (ladder.success) ladders.set(draft.name.trim(), ladder.data);
    else
      for (const [path, code] of Object.entries(issuesByPath(ladder.error.issues)))
        errors[errorPath(draft, path)] = code;
  }
  return { ladders: Object.fromEntries(ladders), errors };
}

/** Every class that these rungs may treat apart: the known ones, and those they name themselves. */
export function classesOf(
  rungs: readonly { readonly actions: Readonly<Record<string, unknown>> }[],
): readonly string[] {
  const named = rungs.flatMap((rung) => Object.keys(rung.actions));
  return [...new Set([...TRAFFIC_CLASSES, ...named])].filter((name) => name !== OTHERS);
}
