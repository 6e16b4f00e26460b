"use client";
import { Download, TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { saveCsv } from "@/components/format/save-csv";
import { zoneText } from "@/components/format/time";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { EmptyState, Notice } from "@/components/ui/notice";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { BudgetTree } from "@/lib/contracts/budgets";
import type { CsvCell } from "@/lib/domain/csv";
import { BUDGET_CSV_COLUMNS, budgetCsvRows } from "./budget-csv";
import type { BudgetPanel } from "./budget-actions";
import { BudgetDrawer } from "./budget-drawer";
import { BudgetTreeTable } from "./budget-tree-table";
import { HistoryDrawer } from "./history-drawer";
import { TopUpDialog } from "./top-up-dialog";
import { initiallyClosed, visibleRows } from "./tree-rows";
import { useBudgetWords } from "./use-budget-words";
import { useBudgetTree } from "./use-budgets";

const ROOMY_ROWS = 40;

function Panel({
  panel,
  tree,
  onClose,
}: {
  readonly panel: BudgetPanel | null;
  readonly tree: BudgetTree;
  readonly onClose: () => void;
}): ReactElement | null {
  if (panel === null) return null;
  switch (panel.kind) {
    case "create":
      return <BudgetDrawer tree={tree} node={panel.node} budget={null} onClose={onClose} />;
    case "edit":
      return <BudgetDrawer tree={tree} node={panel.node} budget={panel.budget} onClose={onClose} />;
    case "topUp":
      return <TopUpDialog tree={tree} budget={panel.budget} onClose={onClose} />;
    case "history":
      return <HistoryDrawer tree={tree} budget={panel.budget} onClose={onClose} />;
  }
}

function ExportButton({ tree }: { readonly tree: BudgetTree }): ReactElement {
  const t = useTranslations("budgets");
  const words = useBudgetWords();
  const head = BUDGET_CSV_COLUMNS.map((column) => t(`csv.${column}`));
  const rows = (): readonly (readonly CsvCell[])[] =>
    budgetCsvRows(tree, {
      kind: (kind) => t(`kinds.${kind}`),
      period: (kind) => t(`periods.${kind}`),
      meter: (meter) => t(`meters.${meter}`),
      rung: words.rungName,
      enforcement: (enforcement) => words.enforcement(enforcement, false),
    });
  return (
    <Button onClick={() => saveCsv(`spillway-budgets-${tree.organisation.id}.csv`, [head, ...rows()])}>
      <Download aria-hidden /> {t("csvAction")}
    </Button>
  );
}

function Tree({ tree }: { readonly tree: BudgetTree }): ReactElement {
  const t = useTranslations("budgets");
  const [closed, setClosed] = useState(() => initiallyClosed(tree.nodes, ROOMY_ROWS));
  const [panel, setPanel] = useState<BudgetPanel | null>(null);
  const rows = visibleRows(tree.nodes, closed);
  const toggle = (id: string): void =>
    setClosed((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  const hasBudgets = tree.nodes.some((node) => node.budgets.length > 0);
  return (
    <>
      <div className="mb-3 flex flex-wrap gap-2">
        <Button size="sm" onClick={() => setClosed(new Set())}>
          {t("expandAll")}
        </Button>
        <Button size="sm" onClick={() => setClosed(initiallyClosed(tree.nodes, 0))}>
          {t("collapseAll")}
        </Button>
      </div>
      {tree.nodes.some((node) => node.budgets.some((budget) => budget.source === "booked")) ? (
        <Notice
          tone="warn"
          role="status"
          className="mb-3"
          icon={<TriangleAlert aria-hidden className="text-warn-ink" />}
        >
          {t("booked")}
        </Notice>
      ) : null}
      <Card>
        {hasBudgets ? null : <EmptyState title={t("emptyTitle")} body={t("emptyBody")} />}
        <BudgetTreeTable tree={tree} rows={rows} onToggle={toggle} onOpen={setPanel} />
      </Card>
      <Panel panel={panel} tree={tree} onClose={() => setPanel(null)} />
    </>
  );
}

export function BudgetsPage(): ReactElement {
  const t = useTranslations("budgets");
  const found = useBudgetTree();
  const tree = found.data;
  return (
    <>
      <PageHeader
        title={t("title")}
        actions={tree === undefined ? undefined : <ExportButton tree={tree} />}
        lead={tree === undefined ? t("lead") : `${t("lead")} ${zoneText(tree.readAtMs, tree.organisation.timeZone)}`}
      />
      <QueryView query={found} skeleton={<SkeletonRows />}>
        {(shown) => <Tree tree={shown} />}
      </QueryView>
    </>
  );
}
