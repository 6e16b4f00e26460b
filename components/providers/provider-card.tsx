"use client";
import { Gauge, Pencil, Plug, Plus } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { dateText } from "@/components/format/time";
import { useErrorText } from "@/components/query/use-error-text";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Notice } from "@/components/ui/notice";
import type { ProviderList, ProviderView } from "@/lib/contracts/models";
import { ProviderLimits } from "./provider-limits";
import { DeploymentTable } from "./deployment-table";
import type { ProviderPanel } from "./provider-panel";
import { TestResult } from "./test-result";
import { useProviderTest } from "./use-providers";

interface CardProps {
  readonly list: ProviderList;
  readonly provider: ProviderView;
  readonly onOpen: (panel: ProviderPanel) => void;
}

function Facts({ provider, timeZone }: { readonly provider: ProviderView; readonly timeZone: string }): ReactElement {
  const t = useTranslations("providers");
  const locale = useLocale();
  const { secretChangedAtMs, secretHint } = provider;
  const secret =
    secretChangedAtMs === null
      ? t("noSecret")
      : t(secretHint === null || secretHint === "" ? "secretSince" : "secretEnding", {
          hint: secretHint ?? "",
          at: dateText(secretChangedAtMs, locale, timeZone),
        });
  return (
    <>
      <p className="mt-0.5 font-mono text-xs break-all text-soft">{provider.baseUrl}</p>
      <p className="mt-1 text-xs text-soft">
        {[secret, t(provider.isExternal ? "external" : "inHouse"), t(`billing.${provider.billingMode}`)].join(" · ")}
      </p>
    </>
  );
}

/** One account: what it is, whether it answers, and the models that it serves. */
export function ProviderCard({ list, provider, onOpen }: CardProps): ReactElement {
  const t = useTranslations("providers");
  const errorText = useErrorText();
  const test = useProviderTest(provider.id);
  const { canWrite } = list;
  return (
    <Card aria-labelledby={`provider-${provider.id}`} data-provider={provider.name}>
      <header className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 pt-3.5 pb-3 sm:px-5">
        <div className="min-w-0 flex-1 basis-64">
          <h2
            id={`provider-${provider.id}`}
            className="flex flex-wrap items-center gap-2 text-[0.9375rem] font-semibold"
          >
            {provider.name}
            <Badge>{t(`kinds.${provider.kind}`)}</Badge>
            {provider.disabled ? <Badge tone="warn">{t("disabled")}</Badge> : null}
          </h2>
          <Facts provider={provider} timeZone={list.organisation.timeZone} />
        </div>
        <div className="flex flex-wrap gap-2">
          {list.canBudget ? (
            <Button
              size="sm"
              aria-label={t("addLimitTo", { name: provider.name })}
              onClick={() => onOpen({ kind: "limit", provider, budget: null })}
            >
              <Gauge aria-hidden /> {t("addLimit")}
            </Button>
          ) : null}
          {canWrite ? (
            <>
              <Button size="sm" disabled={test.isPending} onClick={() => test.mutate()}>
                <Plug aria-hidden /> {t(test.isPending ? "testing" : "testAction")}
              </Button>
              <Button
                size="sm"
                aria-label={t("editOf", { name: provider.name })}
                onClick={() => onOpen({ kind: "provider", provider })}
              >
                <Pencil aria-hidden /> {t("edit")}
              </Button>
              <Button
                size="sm"
                aria-label={t("addDeploymentTo", { name: provider.name })}
                onClick={() => onOpen({ kind: "deployment", provider, deployment: null })}
              >
                <Plus aria-hidden /> {t("addDeployment")}
              </Button>
            </>
          ) : null}
        </div>
      </header>
      {test.data === undefined && test.error === null ? null : (
        <div className="px-4 pb-3 sm:px-5">
          {test.error !== null ? (
            <Notice tone="danger" role="alert">
              {errorText(test.error)}
            </Notice>
          ) : test.data === undefined ? null : (
            <TestResult test={test.data} />
          )}
        </div>
      )}
      <ProviderLimits
        list={list}
        provider={provider}
        onEdit={(budget) => onOpen({ kind: "limit", provider, budget })}
        onRemove={(budget) => onOpen({ kind: "limitRemoval", provider, budget })}
      />
      <div className="border-t lg:px-2 lg:pb-1">
        {provider.deployments.length === 0 ? (
          <p className="px-4 py-3 text-[0.8125rem] text-soft sm:px-5 lg:px-3">{t("noDeployments")}</p>
        ) : (
          <DeploymentTable
            deployments={provider.deployments}
            onEdit={canWrite ? (deployment) => onOpen({ kind: "deployment", provider, deployment }) : null}
          />
        )}
      </div>
    </Card>
  );
}
