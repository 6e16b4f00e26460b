"use client";
import { Download } from "lucide-react";
import { useTranslations } from "next-intl";
import { useId } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";

interface ChartFrameProps {
  readonly title: string;
  readonly note?: ReactNode;
  /** The chart in words; also its accessible description. */
  readonly summary: string;
  readonly isEmpty?: boolean;
  readonly empty?: ReactNode;
  /** The same data as rows, for those who read rather than look. */
  readonly table: ReactNode;
  /** Saves that data as a file. */
  readonly onSave?: () => void;
  readonly legend?: ReactNode;
  readonly children: ReactNode;
}

/** Title, chart, its sentence in words and its table. */
export function ChartFrame(props: ChartFrameProps): ReactElement {
  const { title, note, summary, isEmpty = false, empty, table, onSave, legend, children } = props;
  const t = useTranslations("charts");
  const id = useId();
  return (
    <Card aria-labelledby={`${id}-title`} className="flex flex-col">
      <CardHeader id={`${id}-title`} title={title} note={note} />
      {isEmpty ? (
        empty
      ) : (
        <figure className="flex min-h-0 flex-1 flex-col px-2 pb-4 sm:px-3" aria-describedby={`${id}-summary`}>
          {legend === undefined ? null : <div className="px-2 pb-1">{legend}</div>}
          <div className="h-60 min-w-0">{children}</div>
          <figcaption id={`${id}-summary`} className="mt-2 px-2 text-[0.8125rem] text-soft">
            {summary}
          </figcaption>
          <details className="mt-1.5 px-2">
            <summary className="w-fit rounded-sm py-1 text-xs text-brand underline-offset-4 hover:underline max-md:py-3">
              {t("asTable")}
            </summary>
            <div
              className="mt-2 max-h-56 overflow-auto rounded-md border"
              tabIndex={0}
              role="region"
              aria-label={title}
            >
              {table}
            </div>
            {onSave === undefined ? null : (
              <Button size="sm" className="mt-2" onClick={onSave}>
                <Download aria-hidden /> {t("save")}
              </Button>
            )}
          </details>
        </figure>
      )}
    </Card>
  );
}
