"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { dateTimeText } from "@/components/format/time";
import { ConsoleRequestError } from "@/components/query/console-fetch";
import { FormFrame } from "@/components/query/form-frame";
import { QueryError } from "@/components/query/query-error";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import type { PriceImportView } from "@/lib/contracts/price-imports";
import { useImportUndo, usePriceImports } from "./use-prices";

function UndoDialog({
  entry,
  onClose,
}: {
  readonly entry: PriceImportView;
  readonly onClose: () => void;
}): ReactElement {
  const t = useTranslations("prices");
  const undo = useImportUndo();
  const isConflict = undo.error instanceof ConsoleRequestError && undo.error.code === "conflict";
  const takeBack = (): void =>
    undo.mutate(entry.id, {
      onSuccess: () => {
        toast.success(t("undone"));
        onClose();
      },
    });
  return (
    <FormFrame
      shape="dialog"
      title={t("undoTitle")}
      description={t(`undoLead.${entry.book}`, { count: entry.rowCount, source: entry.source })}
      submitLabel={t("takeBack")}
      pendingLabel={t("undoing")}
      isDanger
      isPending={undo.isPending}
      error={undo.error}
      {...(isConflict ? { said: t("undoConflict") } : {})}
      onSubmit={takeBack}
      onClose={onClose}
    >
      {undo.error === null ? <p className="text-[0.8125rem] text-soft">{t("undoBody")}</p> : null}
    </FormFrame>
  );
}

/** What was imported, newest first, and the way to take it back. */
export function ImportsCard({ canWrite }: { readonly canWrite: boolean }): ReactElement {
  const t = useTranslations("prices");
  const locale = useLocale();
  const { data, error, refetch } = usePriceImports();
  const [undoing, setUndoing] = useState<PriceImportView | null>(null);
  return (
    <Card aria-labelledby="prices-imports">
      <CardHeader id="prices-imports" title={t("importsTitle")} note={t("importsNote")} />
      {error === null ? null : (
        <div className="px-4 pb-4 sm:px-5">
          <QueryError error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {data?.imports.length === 0 ? (
        <p className="px-4 pb-4 text-[0.8125rem] text-soft sm:px-5">{t("importsEmpty")}</p>
      ) : (
        <ul className="divide-y border-t text-[0.8125rem]">
          {(data?.imports ?? []).map((entry) => (
            <li
              key={entry.id}
              className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 sm:px-5"
              data-import={entry.source}
            >
              <span className="min-w-0 flex-1 basis-48">
                <span className="block font-medium break-words">{entry.source}</span>
                <span className="block text-xs text-soft">
                  {t(`importRows.${entry.book}`, { count: entry.rowCount })}
                  {` · ${t(`formats.${entry.format as "csv"}`)} · ${dateTimeText(entry.createdAtMs, locale, data?.organisation.timeZone ?? "UTC")}`}
                </span>
              </span>
              {entry.undoneAtMs === null ? (
                canWrite ? (
                  <Button size="sm" onClick={() => setUndoing(entry)}>
                    {t("takeBack")}
                  </Button>
                ) : null
              ) : (
                <Badge>
                  {t("undoneAt", {
                    at: dateTimeText(entry.undoneAtMs, locale, data?.organisation.timeZone ?? "UTC"),
                  })}
                </Badge>
              )}
            </li>
          ))}
        </ul>
      )}
      {undoing === null ? null : <UndoDialog entry={undoing} onClose={() => setUndoing(null)} />}
    </Card>
  );
}
