"use client";
import { Plus, TriangleAlert, Upload } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";
import type { ReactElement } from "react";
import { zoneText } from "@/components/format/time";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Input } from "@/components/ui/field";
import { EmptyState, Notice } from "@/components/ui/notice";
import { SkeletonRows } from "@/components/ui/skeleton";
import { priceBookQuery } from "@/lib/contracts/prices";
import type { PriceBook } from "@/lib/contracts/prices";
import { FxCard } from "./fx-card";
import { PriceHistoryDrawer } from "./history-drawer";
import { ImportsCard } from "./imports-card";
import { ModelDrawer } from "./model-drawer";
import { ModelTable } from "./model-table";
import { PriceDrawer } from "./price-drawer";
import type { PricePanel } from "./price-panel";
import { usePriceBook } from "./use-prices";

function Panel({
  panel,
  book,
  onClose,
}: {
  readonly panel: PricePanel | null;
  readonly book: PriceBook;
  readonly onClose: () => void;
}): ReactElement | null {
  if (panel === null) return null;
  switch (panel.kind) {
    case "model":
      return <ModelDrawer book={book} model={panel.model} onClose={onClose} />;
    case "price":
      return <PriceDrawer book={book} model={panel.model} onClose={onClose} />;
    case "history":
      return <PriceHistoryDrawer book={book} model={panel.model} onClose={onClose} />;
  }
}

function AsOf({
  at,
  book,
  onChange,
}: {
  readonly at: string;
  readonly book: PriceBook;
  readonly onChange: (at: string) => void;
}): ReactElement {
  const t = useTranslations("prices");
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <label htmlFor="prices-at" className="text-[0.8125rem] font-medium">
        {t("asOf")}
      </label>
      <Input
        id="prices-at"
        type="date"
        className="w-auto"
        value={at}
        aria-describedby="prices-at-hint"
        onChange={(event) => onChange(event.target.value)}
      />
      {at === "" ? null : (
        <Button variant="ghost" onClick={() => onChange("")}>
          {t("backToNow")}
        </Button>
      )}
      <p id="prices-at-hint" className="text-xs text-soft">
        {t(at === "" ? "asOfNow" : "asOfHint", { zone: zoneText(book.readAtMs, book.organisation.timeZone) })}
      </p>
    </div>
  );
}

function Actions({ book, onAdd }: { readonly book: PriceBook; readonly onAdd: () => void }): ReactElement {
  const t = useTranslations("prices");
  return (
    <div className="flex flex-wrap gap-2">
      {book.canWriteModels ? (
        <Button onClick={onAdd}>
          <Plus aria-hidden /> {t("createModel")}
        </Button>
      ) : null}
      {book.canWritePrices ? (
        <Button variant="primary" asChild>
          <Link href="/prices/import">
            <Upload aria-hidden /> {t("import")}
          </Link>
        </Button>
      ) : null}
    </div>
  );
}

function Book({
  book,
  at,
  onDate,
  onOpen,
}: {
  readonly book: PriceBook;
  readonly at: string;
  readonly onDate: (at: string) => void;
  readonly onOpen: (panel: PricePanel) => void;
}): ReactElement {
  const t = useTranslations("prices");
  const unpriced = book.models.filter((model) => model.price === null && !model.disabled);
  return (
    <>
      <AsOf at={at} book={book} onChange={onDate} />
      {unpriced.length === 0 ? null : (
        <Notice tone="warn" className="mb-3" icon={<TriangleAlert aria-hidden className="text-warn-ink" />}>
          {t("unpriced", {
            count: unpriced.length,
            names: unpriced
              .slice(0, 5)
              .map((model) => model.name)
              .join(", "),
          })}
        </Notice>
      )}
      <div className="grid gap-4">
        <Card>
          {book.models.length === 0 ? (
            <EmptyState
              title={t("emptyTitle")}
              body={t("emptyBody")}
              action={
                book.canWriteModels ? (
                  <Button variant="primary" onClick={() => onOpen({ kind: "model", model: null })}>
                    {t("createModel")}
                  </Button>
                ) : undefined
              }
            />
          ) : (
            <ModelTable book={book} onOpen={onOpen} />
          )}
        </Card>
        <FxCard book={book} />
        <ImportsCard canWrite={book.canWritePrices} />
      </div>
    </>
  );
}

export function PricesPage(): ReactElement {
  const t = useTranslations("prices");
  const [written, setAt] = useQueryState("at", parseAsString.withDefault(""));
  const parsed = priceBookQuery.safeParse({ at: written });
  const at = parsed.success ? parsed.data.at : "";
  const found = usePriceBook(at);
  const book = found.data;
  const [panel, setPanel] = useState<PricePanel | null>(null);
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={t("lead")}
        actions={
          book === undefined ? undefined : (
            <Actions book={book} onAdd={() => setPanel({ kind: "model", model: null })} />
          )
        }
      />
      <QueryView query={found} skeleton={<SkeletonRows />}>
        {(shown) => (
          <Book book={shown} at={at} onDate={(date) => void setAt(date === "" ? null : date)} onOpen={setPanel} />
        )}
      </QueryView>
      {book === undefined ? null : <Panel panel={panel} book={book} onClose={() => setPanel(null)} />}
    </>
  );
}
