"use client";
import { CircleCheck, CircleHelp, TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Notice } from "@/components/ui/notice";
import type { ProviderTestResult } from "@/lib/contracts/models";

const TONES: Readonly<Record<ProviderTestResult["result"], "info" | "warn" | "danger">> = {
  ok: "info",
  unlisted: "info",
  busy: "warn",
  auth: "danger",
  network: "danger",
  refused_address: "danger",
  not_an_api: "danger",
};

function Icon({ result }: { readonly result: ProviderTestResult["result"] }): ReactElement {
  if (result === "ok") return <CircleCheck aria-hidden className="text-good" />;
  if (result === "unlisted") return <CircleHelp aria-hidden className="text-brand" />;
  return <TriangleAlert aria-hidden className={TONES[result] === "warn" ? "text-warn-ink" : "text-danger"} />;
}

/** What a connection test found, what it means, and the names of models where the account has a list. */
export function TestResult({ test }: { readonly test: ProviderTestResult }): ReactElement {
  const t = useTranslations("providerTest");
  const fieldText = useFieldText();
  const { result, reason, models } = test;
  const why =
    reason === null
      ? test.detail
      : result === "refused_address"
        ? fieldText(reason)
        : t(`networkReasons.${reason as "connect"}`);
  return (
    <Notice tone={TONES[result]} role="status" icon={<Icon result={result} />}>
      <p className="font-medium">{t(`results.${result}`, { count: models.length })}</p>
      <p className="text-[0.8125rem] text-soft">{why}</p>
      {models.length === 0 ? null : (
        <details className="mt-1 text-[0.8125rem]">
          <summary className="rounded-sm text-brand">{t("showModels", { count: models.length })}</summary>
          <ul className="mt-1.5 max-h-48 columns-1 gap-x-6 overflow-y-auto font-mono text-xs sm:columns-2 xl:columns-3">
            {models.map((model) => (
              <li key={model} className="truncate py-0.5" title={model}>
                {model}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Notice>
  );
}
