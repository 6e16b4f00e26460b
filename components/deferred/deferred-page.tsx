"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { Ago } from "@/components/format/figures";
import { readConsole } from "@/components/query/console-fetch";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { OlderRows } from "@/components/query/older-rows";
import { QueryView } from "@/components/query/query-view";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useOutcomeText } from "@/components/requests/use-request-words";
import { PageHeader } from "@/components/shell/page-header";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Select } from "@/components/ui/field";
import { SkeletonRows } from "@/components/ui/skeleton";
import { deferredList } from "@/lib/contracts/deferred-calls";
import type { DeferredList, DeferredView } from "@/lib/contracts/deferred-calls";
import { DEFERRED_ENDS, DEFERRED_STATES } from "@/lib/domain/deferred-call";

const POLL_MS = 5_000;
const TONES = {
  pending: "brand",
  running: "brand",
  done: "good",
  failed: "danger",
  cancelled: "neutral",
  expired: "warn",
} as const;

function useDeferred(state: string): UseInfiniteQueryResult<InfiniteData<DeferredList>> {
  return useInfiniteQuery({
    queryKey: queryKeys.deferred(state),
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({ state, after: pageParam });
      return readConsole(`/api/console/deferred-calls?${parameters.toString()}`, deferredList, signal);
    },
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) <= 1 ? POLL_MS : false),
  });
}

/** Why it ended otherwise than with an answer; what a gateway says has its words in the request log. */
function useEndText(): (code: string) => string {
  const t = useTranslations("deferred");
  const outcomeText = useOutcomeText();
  return (code) => {
    const status = /^status_(\d{3})$/u.exec(code)?.[1];
    if (status !== undefined) return t("endStatus", { status });
    const known = DEFERRED_ENDS.find((one) => one === code);
    return known === undefined ? outcomeText(code) : t(`ends.${known}`);
  };
}

function CancelDialog({ call, onClose }: { readonly call: DeferredView; readonly onClose: () => void }): ReactElement {
  const t = useTranslations("deferred");
  const write = useConsoleWrite(queryKeys.allDeferred);
  return (
    <FormFrame
      shape="dialog"
      isDanger
      title={t("cancelTitle")}
      description={t("cancelLead", { app: call.appName ?? "–" })}
      submitLabel={t("cancelAct")}
      isPending={write.isPending}
      error={write.error}
      onSubmit={() =>
        write.mutate(
          { path: `/api/console/deferred-calls/${call.id}/cancel`, method: "POST", body: {} },
          {
            onSuccess: () => {
              toast.success(t("cancelled"));
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    >
      <p className="font-mono text-xs break-all text-soft">{call.id}</p>
    </FormFrame>
  );
}

const link = "inline-flex min-h-6 items-center text-brand underline-offset-4 hover:underline max-md:min-h-10";

function Row({
  list,
  call,
  onCancel,
}: {
  readonly list: DeferredList;
  readonly call: DeferredView;
  readonly onCancel: () => void;
}): ReactElement {
  const t = useTranslations("deferred");
  const endText = useEndText();
  const ago = (ms: number): ReactElement => <Ago ms={ms} nowMs={list.readAtMs} timeZone={list.organisation.timeZone} />;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 sm:px-5" data-deferred={call.id}>
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[call.state]}>{t(`states.${call.state}`)}</Badge>
          <span className="font-medium">{call.appName ?? "–"}</span>
          <span className="text-soft">
            {[call.keyName, call.modelRequested].filter((one) => one !== null).join(" · ")}
          </span>
        </p>
        <p className="mt-0.5 text-xs text-soft">
          {t.rich("taken", { ago: () => ago(call.createdAtMs) })}
          {call.tries === 0 ? null : ` · ${t("tries", { count: call.tries })}`}
          {call.nextAtMs === null ? null : <> · {t.rich("next", { ago: () => ago(call.nextAtMs ?? 0) })}</>}
          {call.endedAtMs !== null ? (
            <> · {t.rich("endedAt", { ago: () => ago(call.endedAtMs ?? 0) })}</>
          ) : (
            <> · {t.rich("deadline", { ago: () => ago(call.deadlineMs) })}</>
          )}
          {call.code === null ? null : ` · ${endText(call.code)}`}
        </p>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-3 text-xs">
          <span className="font-mono break-all text-soft">{call.id}</span>
          {call.requestId === null ? null : (
            <Link href={`/requests/${call.requestId}`} className={link}>
              {t("toCall")}
            </Link>
          )}
          {call.runRequestId === null ? null : (
            <Link href={`/requests/${call.runRequestId}`} className={link}>
              {t("toRun")}
            </Link>
          )}
        </p>
      </div>
      {call.canCancel ? (
        <Button size="sm" onClick={onCancel}>
          {t("cancel")}
        </Button>
      ) : null}
    </li>
  );
}

/** Calls that were taken for later, and how they stand. */
export function DeferredPage(): ReactElement {
  const t = useTranslations("deferred");
  const [state, setState] = useQueryState("state", parseAsStringLiteral(DEFERRED_STATES));
  const [cancelled, setCancelled] = useState<DeferredView | null>(null);
  const found = useDeferred(state ?? "");
  const { data } = found;
  const rows = data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={t("lead")}
        actions={
          <Select
            aria-label={t("stateFilter")}
            className="w-auto"
            value={state ?? ""}
            onChange={(event) => void setState(DEFERRED_STATES.find((one) => one === event.target.value) ?? null)}
          >
            <option value="">{t("allStates")}</option>
            {DEFERRED_STATES.map((one) => (
              <option key={one} value={one}>
                {t(`states.${one}`)}
              </option>
            ))}
          </Select>
        }
      />
      <QueryView
        query={{ ...found, data: data?.pages[0] }}
        skeleton={<SkeletonRows rows={6} />}
        empty={() =>
          rows.length > 0
            ? null
            : {
                title: t(state === null ? "emptyTitle" : "noMatchTitle"),
                body: t(state === null ? "emptyBody" : "noMatchBody"),
              }
        }
      >
        {(list) => (
          <Card>
            <ul className="divide-y text-[0.8125rem]">
              {rows.map((call) => (
                <Row key={call.id} list={list} call={call} onCancel={() => setCancelled(call)} />
              ))}
            </ul>
            <OlderRows query={found} label={t("older")} />
          </Card>
        )}
      </QueryView>
      {cancelled === null ? null : <CancelDialog call={cancelled} onClose={() => setCancelled(null)} />}
    </>
  );
}
