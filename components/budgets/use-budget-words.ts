"use client";
/** A budget in words: its rung, what its ladder does, how hard it is. */
import { useLocale, useTranslations } from "next-intl";
import { percentText } from "@/components/format/money";
import type { Ladder, Rung } from "@/lib/domain/policy";
import { TRAFFIC_CLASSES } from "@/lib/domain/policy";
import type { Enforcement } from "@/lib/domain/snapshot";

const KNOWN_RUNGS = ["normal", "warn", "downgrade", "protect", "exhausted", "green", "yellow", "red", "limit"] as const;
const KNOWN_LADDERS = ["monthly-department", "daily-red-line"] as const;

export interface BudgetWords {
  readonly rungName: (name: string) => string;
  readonly rungSentence: (rung: { readonly name: string; readonly atBasisPoints: number } | null) => string;
  readonly ladderName: (name: string | null) => string;
  /** What the rung does, class by class, equal classes named together. */
  readonly rungEffect: (rung: Rung) => string;
  /** "75 %: warn. 90 %: …" one sentence for each rung above zero. */
  readonly ladderLines: (ladder: Ladder) => readonly string[];
  readonly enforcement: (enforcement: Enforcement, frozen: boolean) => string;
}

/** Classes grouped by what the rung does with them, in the order of the classes; `*` stands for the others. */
export function effectGroups(rung: Rung): { readonly action: string; readonly classes: readonly string[] }[] {
  const groups = new Map<string, string[]>();
  for (const trafficClass of TRAFFIC_CLASSES) {
    const action = (rung.actions[trafficClass] ?? rung.actions["*"])?.kind ?? "refuse";
    groups.set(action, [...(groups.get(action) ?? []), trafficClass]);
  }
  return [...groups].map(([action, classes]) => ({ action, classes }));
}

export function useBudgetWords(): BudgetWords {
  const t = useTranslations("ladders");
  const locale = useLocale();
  const list = new Intl.ListFormat(locale, { type: "conjunction" });
  const rungName = (name: string): string => {
    const known = KNOWN_RUNGS.find((one) => one === name);
    return known === undefined ? name : t(`rungs.${known}`);
  };
  const className = (name: string): string => {
    const known = TRAFFIC_CLASSES.find((one) => one === name);
    return known === undefined ? name : t(`classes.${known}`);
  };
  const rungEffect = (rung: Rung): string => {
    const groups = effectGroups(rung);
    return groups
      .map(({ action, classes }) => {
        const doing = t(`actions.${action as "pass"}`);
        return groups.length === 1
          ? t("allClasses", { action: doing })
          : t("someClasses", { classes: list.format(classes.map(className)), action: doing });
      })
      .join(t("separator"));
  };
  return {
    rungName,
    rungSentence: (rung) => {
      if (rung === null) return t("noLadder");
      return rung.atBasisPoints === 0
        ? t("atRest", { rung: rungName(rung.name) })
        : t("inForce", { rung: rungName(rung.name), from: percentText(rung.atBasisPoints, locale) });
    },
    ladderName: (name) => {
      if (name === null) return t("limitOnly");
      const known = KNOWN_LADDERS.find((one) => one === name);
      return known === undefined ? name : t(`names.${known}`);
    },
    rungEffect,
    ladderLines: (ladder) =>
      ladder.rungs
        .filter((rung) => rung.atBasisPoints > 0)
        .map((rung) =>
          t("line", {
            at: percentText(rung.atBasisPoints, locale),
            rung: rungName(rung.name),
            effect: rungEffect(rung),
          }),
        ),
    enforcement: (enforcement, frozen) => (frozen ? t("frozen") : t(`enforcement.${enforcement}`)),
  };
}
