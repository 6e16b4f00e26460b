"use client";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { Ago } from "@/components/format/figures";
import { countText } from "@/components/format/money";
import { queryKeys } from "@/components/query/keys";
import { OlderRows } from "@/components/query/older-rows";
import { QueryView } from "@/components/query/query-view";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useErrorText } from "@/components/query/use-error-text";
import { PageHeader } from "@/components/shell/page-header";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { Select } from "@/components/ui/field";
import { EmptyState } from "@/components/ui/notice";
import { SkeletonCards } from "@/components/ui/skeleton";
import { WEBHOOK_STATES } from "@/lib/contracts/webhooks";
import type { WebhookList, WebhookView } from "@/lib/contracts/webhooks";
import { WEBHOOK_FAILURES } from "@/lib/domain/webhook";
import { SecretCard } from "./secret-card";
import { useWebhooks } from "./use-webhooks";

const TONES = { waiting: "brand", delivered: "good", failed: "danger" } as const;

/** What the last attempt came to. */
function useFailureText(): (failure: string) => string {
  const t = useTranslations("webhooks");
  return (failure) => {
    const status = /^status_(\d{3})$/u.exec(failure)?.[1];
    if (status !== undefined) return t("answered", { status });
    const known = WEBHOOK_FAILURES.find((one) => one === failure);
    return known === undefined ? failure : t(`failure.${known}`);
  };
}

function Row({ list, row }: { readonly list: WebhookList; readonly row: WebhookView }): ReactElement {
  const t = useTranslations("webhooks");
  const locale = useLocale();
  const failureText = useFailureText();
  const errorText = useErrorText();
  const write = useConsoleWrite(queryKeys.allWebhooks);
  const retry = (): void =>
    write.mutate(
      { path: `/api/console/webhooks/${row.id}/retry`, method: "POST", body: {} },
      {
        onSuccess: () => toast.success(t("retried")),
        onError: (error) => toast.error(errorText(error), { duration: Infinity, closeButton: true }),
      },
    );
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 sm:px-5" data-webhook={row.id}>
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[row.state]}>{t(`states.${row.state}`)}</Badge>
          <span className="font-mono text-xs break-all">{row.type}</span>
          <span className="text-soft">{row.host === null ? t("hostUnreadable") : t("toHost", { host: row.host })}</span>
        </p>
        <p className="mt-0.5 text-xs text-soft">
          <Ago ms={row.createdAtMs} nowMs={list.readAtMs} timeZone={list.organisation.timeZone} />
          {" · "}
          {t("attempts", { count: row.attempts })}
          {row.retries === 0 ? null : ` · ${t("retries", { count: countText(row.retries, locale) })}`}
          {row.lastFailure === null ? null : ` · ${failureText(row.lastFailure)}`}
        </p>
        <p className="mt-0.5 font-mono text-xs break-all text-soft">
          {row.requestId === null ? (
            (row.aboutId ?? row.id)
          ) : (
            <Link href={`/requests/${row.requestId}`} className="text-brand underline-offset-4 hover:underline">
              {row.aboutId ?? row.requestId}
            </Link>
          )}
        </p>
      </div>
      {row.state === "failed" ? (
        <Button size="sm" disabled={write.isPending} onClick={retry}>
          {t("retry")}
        </Button>
      ) : null}
    </li>
  );
}

/** The webhook secret, and what was posted with it. */
export function WebhooksPage(): ReactElement {
  const t = useTranslations("webhooks");
  const [state, setState] = useQueryState("state", parseAsStringLiteral(WEBHOOK_STATES));
  const found = useWebhooks(state ?? "");
  const { data } = found;
  return (
    <>
      <PageHeader title={t("title")} lead={t("lead")} />
      <QueryView query={{ ...found, data: data?.pages[0] }} skeleton={<SkeletonCards count={2} />}>
        {(list) => {
          const rows = data?.pages.flatMap((page) => page.rows) ?? [];
          return (
            <div className="grid gap-4">
              <SecretCard list={list} />
              <Card aria-labelledby="webhook-deliveries">
                <CardHeader
                  id="webhook-deliveries"
                  title={t("deliveriesTitle")}
                  note={t("deliveriesNote")}
                  action={
                    <Select
                      aria-label={t("stateFilter")}
                      className="h-8 w-auto"
                      value={state ?? ""}
                      onChange={(event) =>
                        void setState(WEBHOOK_STATES.find((one) => one === event.target.value) ?? null)
                      }
                    >
                      <option value="">{t("allStates")}</option>
                      {WEBHOOK_STATES.map((one) => (
                        <option key={one} value={one}>
                          {t(`states.${one}`)}
                        </option>
                      ))}
                    </Select>
                  }
                />
                {rows.length === 0 ? (
                  <EmptyState
                    title={t(state === null ? "emptyTitle" : "noMatchTitle")}
                    body={t(state === null ? "emptyBody" : "noMatchBody")}
                  />
                ) : (
                  <ul className="divide-y border-t text-[0.8125rem]">
                    {rows.map((row) => (
                      <Row key={row.id} list={list} row={row} />
                    ))}
                  </ul>
                )}
                <OlderRows query={found} label={t("older")} />
              </Card>
            </div>
          );
        }}
      </QueryView>
    </>
  );
}
