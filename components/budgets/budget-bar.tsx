"use client";
import { useLocale, useTranslations } from "next-intl";
import type { CSSProperties, ReactElement } from "react";
import { amountOfMeter, percentText } from "@/components/format/money";
import { cn } from "@/components/ui/cn";
import type { BudgetView } from "@/lib/contracts/budgets";
import { barGeometry, toneOf } from "./bar-geometry";
import type { RungTone } from "./bar-geometry";

export const TONE_COLOURS: Readonly<Record<RungTone, string>> = {
  calm: "var(--water)",
  warn: "var(--rung-warn)",
  downgrade: "var(--rung-downgrade)",
  protect: "var(--rung-protect)",
  exhausted: "var(--rung-exhausted)",
};

type BarBudget = Pick<
  BudgetView,
  "spentAmount" | "heldAmount" | "limitAmount" | "grantedAmount" | "usedBasisPoints" | "marks" | "meter"
>;

interface BudgetBarProps {
  readonly budget: BarBudget;
  /** Names the bar for assistive tech. */
  readonly label: string;
  /** Prints the marks' percentages below the bar. */
  readonly showScale?: boolean;
  readonly className?: string;
}

/** A gauge read from the left: spent is solid, held is hatched, thin lines are the ladder's marks. */
export function BudgetBar({ budget, label, showScale = false, className }: BudgetBarProps): ReactElement {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const limit = BigInt(budget.limitAmount) + BigInt(budget.grantedAmount);
  const marks = budget.marks.map((mark) => mark.atBasisPoints);
  const bar = barGeometry({
    spent: BigInt(budget.spentAmount),
    held: BigInt(budget.heldAmount),
    limit,
    marksBasisPoints: marks.length === 0 ? [10_000] : marks,
  });
  const fill = TONE_COLOURS[toneOf(budget.usedBasisPoints, marks)];
  const used = budget.usedBasisPoints ?? 10_000;
  const text = t("barText", {
    percent: percentText(used, locale),
    spent: amountOfMeter(budget.spentAmount, budget.meter, locale),
    held: amountOfMeter(budget.heldAmount, budget.meter, locale),
    limit: amountOfMeter(limit, budget.meter, locale),
  });
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.min(100, Math.round(used / 100))}
      aria-valuetext={text}
      className={cn("min-w-24", className)}
      style={{ "--fill": fill } as CSSProperties}
    >
      <div className="relative h-2.5">
        <div className="absolute inset-0 flex overflow-hidden rounded-full bg-sunken shadow-[inset_0_0_0_1px_var(--line)]">
          <div
            className="h-full bg-(--fill) transition-[width] duration-500"
            style={{ width: `${String(bar.spent)}%` }}
          />
          <div
            className="held-hatch h-full transition-[width] duration-500"
            style={{ width: `${String(bar.held)}%` }}
          />
        </div>
        {bar.marks.map((mark) => (
          <span
            key={mark.basisPoints}
            className={cn("absolute -inset-y-0.5 w-px bg-ink/55", mark.basisPoints === 10_000 && "w-0.5 bg-ink/80")}
            style={{ left: `${String(mark.position)}%` }}
          />
        ))}
      </div>
      {showScale ? (
        <div aria-hidden className="figures relative mt-1 h-3.5 text-[0.625rem] leading-none text-soft">
          {bar.marks
            .filter((mark) => mark.basisPoints !== 9800)
            .map((mark) => (
              <span
                key={mark.basisPoints}
                className="absolute -translate-x-1/2"
                style={{ left: `${String(mark.position)}%` }}
              >
                {String(mark.basisPoints / 100)}
              </span>
            ))}
        </div>
      ) : null}
    </div>
  );
}
