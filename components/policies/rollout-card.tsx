"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { Ago } from "@/components/format/figures";
import { QueryView } from "@/components/query/query-view";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { Skeleton } from "@/components/ui/skeleton";
import type { PolicyList, PolicyView, RolloutHistory, RolloutView } from "@/lib/contracts/policies";
import { ReplayView } from "./replay-view";
import { RolloutDialog } from "./rollout-dialog";
import type { RolloutAct } from "./rollout-dialog";
import { useRolloutHistory } from "./use-rollouts";

interface CardProps {
  readonly list: PolicyList;
  readonly policy: PolicyView;
}

function Share({ percent }: { readonly percent: number }): ReactElement {
  return (
    <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
      <div className="h-full rounded-full bg-brand" style={{ width: `${String(percent)}%` }} />
    </div>
  );
}

function Open({
  policy,
  rollout,
  onAct,
}: {
  readonly policy: PolicyView;
  readonly rollout: RolloutView;
  /** null: the person may only read. */
  readonly onAct: ((act: RolloutAct) => void) | null;
}): ReactElement {
  const t = useTranslations("rollouts");
  const { percent, isHeld, versionNumber: number } = rollout;
  return (
    <div className="grid gap-3" data-testid="rollout">
      <p className="flex flex-wrap items-center gap-2 text-[0.8125rem]">
        <span className="font-medium">
          {percent === 0 ? t("inShadow", { number }) : t("isOut", { number, percent })}
        </span>
        {isHeld ? <Badge tone="warn">{t("held")}</Badge> : null}
      </p>
      <Share percent={percent} />
      <ReplayView policyId={policy.id} versionId={rollout.versionId} percent={percent} />
      {onAct === null ? null : (
        <div className="flex flex-wrap gap-2">
          <Button size="sm" variant="primary" disabled={isHeld} onClick={() => onAct({ kind: "move", rollout })}>
            {t("act.move")}
          </Button>
          <Button size="sm" onClick={() => onAct({ kind: isHeld ? "release" : "hold", rollout })}>
            {t(isHeld ? "act.release" : "act.hold")}
          </Button>
          <Button size="sm" onClick={() => onAct({ kind: "complete", rollout })}>
            {t("act.complete")}
          </Button>
          <Button size="sm" variant="dangerGhost" onClick={() => onAct({ kind: "abort", rollout })}>
            {t("act.abort")}
          </Button>
        </div>
      )}
    </div>
  );
}

function History({
  list,
  history,
}: {
  readonly list: PolicyList;
  readonly history: RolloutHistory;
}): ReactElement | null {
  const t = useTranslations("rollouts");
  if (history.entries.length === 0) return null;
  return (
    <ol className="divide-y border-t text-[0.8125rem]" aria-label={t("historyTitle")}>
      {history.entries.map((entry) => (
        <li key={entry.auditId} className="px-4 py-2 sm:px-5" data-act={entry.act}>
          {t(`history.${entry.act}`, {
            number: entry.versionNumber ?? 0,
            before: entry.percentBefore ?? 0,
            percent: entry.percent,
          })}
          <span className="block text-xs text-soft">
            {entry.actor} · <Ago ms={entry.atMs} nowMs={list.readAtMs} timeZone={list.organisation.timeZone} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The exposure of a version beside the one in force: how it stands, its steps, and what was done with it. */
export function RolloutCard({ list, policy }: CardProps): ReactElement {
  const t = useTranslations("rollouts");
  const p = useTranslations("policies");
  const history = useRolloutHistory(policy.id);
  const [act, setAct] = useState<RolloutAct | null>(null);
  const { rollout } = policy;
  // Only newer versions: going back to an older one is done at once, beside it.
  const activeNumber = policy.versions.find((one) => one.id === policy.activeVersionId)?.number ?? 0;
  const [waiting] = policy.versions.filter((one) => one.number > activeNumber);
  return (
    <Card aria-labelledby="policy-rollout">
      <CardHeader id="policy-rollout" title={t("cardTitle")} note={t("cardNote")} />
      <div className="grid gap-3 px-4 pb-4 sm:px-5">
        {rollout !== null ? (
          <Open policy={policy} rollout={rollout} onAct={list.canWrite ? setAct : null} />
        ) : waiting === undefined ? (
          <p className="text-[0.8125rem] text-soft">{t("nothingWaits")}</p>
        ) : (
          <div className="grid justify-items-start gap-2">
            <p className="text-[0.8125rem]">{t("waits", { number: waiting.number })}</p>
            {waiting.note === null ? null : <p className="text-xs break-words text-soft">{waiting.note}</p>}
            {list.canWrite ? (
              <Button size="sm" variant="primary" onClick={() => setAct({ kind: "start", version: waiting })}>
                {t("act.start", { version: p("version", { number: waiting.number }) })}
              </Button>
            ) : null}
          </div>
        )}
      </div>
      <QueryView query={history} skeleton={<Skeleton className="mx-4 mb-4 h-10" />}>
        {(read) => <History list={list} history={read} />}
      </QueryView>
      {act === null ? null : <RolloutDialog policy={policy} act={act} onClose={() => setAct(null)} />}
    </Card>
  );
}
