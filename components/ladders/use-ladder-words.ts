"use client";
/** What a ladder gives each class of traffic, in sentences. */
import { useLocale, useTranslations } from "next-intl";
import { percentText } from "@/components/format/money";
import { TRAFFIC_CLASSES } from "@/lib/domain/policy";
import type { LadderFinding, LadderStage } from "./ladder-preview";

/** The gateway's own pause where a rung names none (`PROTECTED_RETRY_MS` of the reserve stage). */
const DEFAULT_RETRY_SECONDS = 30;

export interface LadderWords {
  readonly className: (name: string) => string;
  /** "core calls: served by a; from 90% by b instead." */
  readonly stagesSentence: (trafficClass: string, asked: string, stages: readonly LadderStage[]) => string;
  readonly finding: (finding: LadderFinding, asked: string) => string;
}

export function useLadderWords(): LadderWords {
  const t = useTranslations("ladderForm");
  const l = useTranslations("ladders");
  const locale = useLocale();
  const className = (name: string): string => {
    const known = TRAFFIC_CLASSES.find((one) => one === name);
    return t("class", { name: known === undefined ? name : l(`classes.${known}`) });
  };
  const later = ({ kind, fromBasisPoints, model, retryAfterSeconds }: LadderStage): string =>
    t(`stage.${kind}`, {
      at: percentText(fromBasisPoints, locale, 2),
      model: model ?? "",
      seconds: retryAfterSeconds ?? DEFAULT_RETRY_SECONDS,
    });
  return {
    className,
    stagesSentence: (trafficClass, asked, [first, ...rest]) => {
      if (first === undefined) return "";
      return t("previewLine", {
        class: className(trafficClass),
        first: t(`stageFirst.${first.kind}`, { model: first.model ?? "", asked }),
        rest: rest.map(later).join(""),
      });
    },
    finding: (finding, asked) =>
      finding.kind === "milder"
        ? t("finding.milder", {
            class: className(finding.trafficClass),
            at: percentText(finding.atBasisPoints, locale, 2),
          })
        : t(`finding.${finding.kind}`, { model: asked }),
  };
}
