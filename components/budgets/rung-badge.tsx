"use client";
import { useTranslations } from "next-intl";
import type { CSSProperties, ReactElement } from "react";
import { Badge } from "@/components/ui/badge";
import type { BudgetView } from "@/lib/contracts/budgets";
import { toneOf } from "./bar-geometry";
import { TONE_COLOURS } from "./budget-bar";
import { useBudgetWords } from "./use-budget-words";

/** The rung in force: its colour as a dot, its name in words. */
export function RungBadge({
  budget,
}: {
  readonly budget: Pick<BudgetView, "rung" | "marks" | "usedBasisPoints" | "frozen">;
}): ReactElement {
  const words = useBudgetWords();
  const t = useTranslations("budgets");
  if (budget.frozen) return <Badge tone="danger">{t("frozen")}</Badge>;
  const tone = toneOf(
    budget.usedBasisPoints,
    budget.marks.map((mark) => mark.atBasisPoints),
  );
  const name = budget.rung === null ? t(tone === "exhausted" ? "used" : "open") : words.rungName(budget.rung.name);
  return (
    <Badge style={{ "--fill": TONE_COLOURS[tone] } as CSSProperties} className="text-ink">
      <span aria-hidden className="size-2 rounded-full bg-(--fill)" />
      {name}
    </Badge>
  );
}
