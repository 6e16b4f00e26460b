"use client";
import { Pencil } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { durationText } from "@/components/format/time";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import type { DeploymentView } from "@/lib/contracts/models";

interface TableProps {
  readonly deployments: readonly DeploymentView[];
  /** null: the person may not change them. */
  readonly onEdit: ((deployment: DeploymentView) => void) | null;
}

/** The limits that are set, shortest step first; what is absent is the gateway's own. */
function useTimeouts(): (deployment: DeploymentView) => string {
  const t = useTranslations("providers");
  const locale = useLocale();
  return ({ timeoutMs, connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs }) =>
    [
      { label: t("timeouts.connect"), ms: connectTimeoutMs },
      { label: t("timeouts.firstByte"), ms: firstByteTimeoutMs },
      { label: t("timeouts.idle"), ms: idleTimeoutMs },
      { label: t("timeouts.whole"), ms: timeoutMs },
    ]
      .flatMap(({ label, ms }) => (ms === null ? [] : [`${label} ${durationText(ms, locale)}`]))
      .join(" · ");
}

function Row({
  deployment,
  onEdit,
}: {
  readonly deployment: DeploymentView;
  readonly onEdit: TableProps["onEdit"];
}): ReactElement {
  const t = useTranslations("providers");
  const timeouts = useTimeouts();
  const cell = "px-3 py-2 align-top max-lg:block max-lg:px-4 max-lg:py-0.5";
  const label = (text: string): ReactElement => (
    <span className="mr-2 font-sans text-xs text-soft lg:hidden">{text}</span>
  );
  const { modelName, upstreamModel, priority, weight, region, disabled } = deployment;
  return (
    <tr
      className={cn("max-lg:relative max-lg:block max-lg:border-t max-lg:py-2.5", disabled && "text-soft")}
      data-deployment={`${modelName} ${upstreamModel}`}
    >
      <th scope="row" className={cn(cell, "text-left font-medium max-lg:pr-14")}>
        <span className="flex flex-wrap items-center gap-2 break-all">
          {modelName}
          {disabled ? <Badge>{t("disabled")}</Badge> : null}
        </span>
      </th>
      <td className={cn(cell, "font-mono text-xs break-all")}>
        {label(t("col.upstream"))}
        {upstreamModel}
      </td>
      <td className={cn(cell, "figures whitespace-nowrap")}>
        {label(t("col.order"))}
        {t("order", { priority, weight })}
      </td>
      <td className={cell}>
        {label(t("col.region"))}
        {region ?? <span className="text-soft">–</span>}
      </td>
      <td className={cn(cell, "figures text-xs text-soft")}>{timeouts(deployment)}</td>
      <td className="px-2 py-1.5 text-right align-top max-lg:absolute max-lg:top-1 max-lg:right-1">
        {onEdit === null ? null : (
          <Button
            variant="ghost"
            size="iconSm"
            aria-label={t("editDeploymentOf", { model: modelName, upstream: upstreamModel })}
            onClick={() => onEdit(deployment)}
          >
            <Pencil aria-hidden />
          </Button>
        )}
      </td>
    </tr>
  );
}

export function DeploymentTable({ deployments, onEdit }: TableProps): ReactElement {
  const t = useTranslations("providers");
  const head = "px-3 py-1.5 font-medium";
  return (
    <table className="w-full text-[0.8125rem] max-lg:block">
      <thead className="text-left text-xs text-soft max-lg:hidden">
        <tr>
          <th className={head}>{t("col.model")}</th>
          <th className={head}>{t("col.upstream")}</th>
          <th className={head}>{t("col.order")}</th>
          <th className={head}>{t("col.region")}</th>
          <th className={head}>{t("col.timeouts")}</th>
          <th className={head}>
            <span className="sr-only">{t("col.actions")}</span>
          </th>
        </tr>
      </thead>
      <tbody className="max-lg:block lg:[&_tr>*]:border-t">
        {deployments.map((deployment) => (
          <Row key={deployment.id} deployment={deployment} onEdit={onEdit} />
        ))}
      </tbody>
    </table>
  );
}
