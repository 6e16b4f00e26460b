"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { countText } from "@/components/format/money";
import { useLadderWords } from "@/components/ladders/use-ladder-words";
import { QueryView } from "@/components/query/query-view";
import { Skeleton } from "@/components/ui/skeleton";
import type { PolicyReplay } from "@/lib/contracts/policies";
import { usePolicyReplay } from "./use-rollouts";

type Outcome = PolicyReplay["groups"][number]["before"];

function useOutcomeText(): (outcome: Outcome) => string {
  const t = useTranslations("rollouts");
  const l = useTranslations("ladderForm");
  return ({ kind, model }) => {
    if (kind === "not_allowed") return t("notAllowed");
    return model === null ? l(`actions.${kind}`) : model;
  };
}

function Groups({ replay }: { readonly replay: PolicyReplay }): ReactElement {
  const t = useTranslations("rollouts");
  const locale = useLocale();
  const { className } = useLadderWords();
  const outcomeText = useOutcomeText();
  if (replay.calls === 0) return <p className="text-[0.8125rem] text-soft">{t("replayNone")}</p>;
  const [changed, calls] = [countText(replay.changed, locale), countText(replay.calls, locale)];
  return (
    <>
      <p className="text-[0.8125rem]">{t("replaySays", { changed, calls })}</p>
      <ul className="divide-y text-[0.8125rem]">
        {replay.groups.map((group) => (
          <li key={JSON.stringify(group)} className="py-1.5">
            <span className="figures font-medium">{countText(group.calls, locale)}</span>{" "}
            <span className="text-soft">
              {className(group.trafficClass)} · {group.model}
            </span>
            <br />
            {outcomeText(group.before)}
            <span aria-hidden className="mx-1.5 text-soft">
              →
            </span>
            <span className="font-medium">{outcomeText(group.after)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface ReplayProps {
  readonly policyId: string;
  readonly versionId: string;
  /** The share that is meant; null: everybody. */
  readonly percent: number | null;
}

/** Which apps a share reaches, and which calls of the last days the version would have treated otherwise. */
export function ReplayView({ policyId, versionId, percent }: ReplayProps): ReactElement {
  const t = useTranslations("rollouts");
  const locale = useLocale();
  const query = usePolicyReplay(policyId, versionId);
  const list = new Intl.ListFormat(locale, { type: "conjunction" });
  return (
    <QueryView query={query} skeleton={<Skeleton className="h-16" />}>
      {(replay) => {
        const reached = replay.apps.filter((app) => percent === null || app.bucket < percent);
        const names = reached.slice(0, 5).map((app) => app.name);
        const more = reached.length - names.length;
        return (
          <div className="grid gap-2" data-testid="policy-replay">
            {replay.apps.length === 0 ? null : (
              <p className="text-[0.8125rem]">
                {reached.length === 0
                  ? t("reachesNone", { all: replay.apps.length })
                  : t("reaches", {
                      count: reached.length,
                      all: replay.apps.length,
                      names: list.format(more > 0 ? [...names, t("andMore", { count: more })] : names),
                    })}
              </p>
            )}
            <Groups replay={replay} />
            <p className="text-xs text-soft">{t("replayNote")}</p>
          </div>
        );
      }}
    </QueryView>
  );
}
