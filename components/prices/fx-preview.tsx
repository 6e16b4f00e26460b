"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { dateTimeText } from "@/components/format/time";
import { Card, CardHeader } from "@/components/ui/card";
import { Choice } from "@/components/ui/field";
import type { FxImportPreview } from "@/lib/contracts/price-imports";

interface PreviewProps {
  readonly preview: FxImportPreview;
  readonly timeZone: string;
  readonly confirmed: readonly string[];
  readonly onConfirm: (name: string, isConfirmed: boolean) => void;
}

/** The rates that the file would add, those that need a person first. */
export function FxPreview({ preview, timeZone, confirmed, onConfirm }: PreviewProps): ReactElement {
  const t = useTranslations("imports");
  const locale = useLocale();
  const { changes, unchanged } = preview;
  const sorted = changes.toSorted((a, b) => Number(b.needsConfirmation) - Number(a.needsConfirmation));
  return (
    <Card data-testid="import-preview">
      <CardHeader
        title={t("fxPreviewTitle", { count: changes.length })}
        note={unchanged === 0 ? undefined : t("unchanged", { count: unchanged })}
      />
      <ul className="max-h-[36rem] overflow-y-auto">
        {sorted.map((change) => (
          <li key={change.name} className="border-t px-4 py-2.5 text-[0.8125rem] sm:px-5">
            <p className="figures flex flex-wrap items-baseline justify-between gap-x-4">
              <span>
                <span className="font-medium">{`${change.base}/${change.quote} ${change.rate}`}</span>
                <span className="ml-2 text-soft">
                  {change.before === null ? t("firstRate") : t("rateBefore", { rate: change.before })}
                </span>
              </span>
              <span className="text-xs text-soft">
                {t("from", { at: dateTimeText(change.effectiveFromMs, locale, timeZone) })}
              </span>
            </p>
            {change.needsConfirmation ? (
              <div className="mt-2 rounded-md border border-rung-warn/50 bg-warn-soft px-3 py-1">
                <Choice
                  type="checkbox"
                  label={t("confirmRate", { pair: `${change.base}/${change.quote}` })}
                  checked={confirmed.includes(change.name)}
                  onChange={(event) => onConfirm(change.name, event.target.checked)}
                />
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </Card>
  );
}
