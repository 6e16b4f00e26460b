"use client";
import { useQuery } from "@tanstack/react-query";
import { Check, LoaderCircle } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { readConsole } from "@/components/query/console-fetch";
import { Button } from "@/components/ui/button";
import { organisationReady } from "@/lib/contracts/organisations";
import { Threshold } from "./threshold";

const POLL_MS = 500;
/** Recovery takes a second or two; after this many looks something is not running. */
const PATIENCE = 30;

/** The new organisation: until its counters are proved nothing is served; then what to do first. */
export function FoundedPanel({ withSandbox }: { readonly withSandbox: boolean }): ReactElement {
  const t = useTranslations("welcome");
  const [looks, setLooks] = useState(0);
  const { data } = useQuery({
    queryKey: ["ready"],
    queryFn: ({ signal }) => {
      setLooks((before) => before + 1);
      return readConsole("/api/console/ready", organisationReady, signal);
    },
    refetchInterval: ({ state }) => (state.data?.ready === true ? false : POLL_MS),
  });
  const isReady = data?.ready === true;
  return (
    <Threshold title={t("foundedTitle")} lead={t("foundedLead")}>
      <p role="status" className="flex items-start gap-2.5 text-sm" data-testid="readiness">
        {isReady ? (
          <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
        ) : (
          <LoaderCircle
            aria-hidden
            className="mt-0.5 size-4 shrink-0 animate-spin text-soft motion-reduce:animate-none"
          />
        )}
        <span>{t(isReady ? "ready" : looks > PATIENCE ? "late" : "gettingReady")}</span>
      </p>
      <h2 className="mt-6 text-sm font-semibold">{t("nextTitle")}</h2>
      <ol className="mt-2 grid list-decimal gap-2 pl-5 text-sm">
        {withSandbox ? null : <li>{t("nextProvider")}</li>}
        <li>{t("nextBudget")}</li>
        <li>{t("nextKey")}</li>
        <li>{t(withSandbox ? "nextCallSandbox" : "nextCall")}</li>
      </ol>
      {isReady ? (
        <div className="mt-6 flex flex-wrap gap-2">
          {/* Full loads: what was read before the organisation existed must not be shown again. */}
          <Button variant="primary" asChild>
            <a href="/budgets">{t("toBudgets")}</a>
          </Button>
          <Button asChild>
            <a href="/overview">{t("toOverview")}</a>
          </Button>
        </div>
      ) : null}
    </Threshold>
  );
}
