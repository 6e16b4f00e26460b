"use client";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { amountOfMeter, percentText } from "@/components/format/money";
import type { BudgetView } from "@/lib/contracts/budgets";

const SHORT_ID = 8;

/** Of a budget that counts each end user: how many have used it, and who most. */
export function EndUsers({ budget }: { readonly budget: BudgetView }): ReactElement | null {
  const t = useTranslations("budgets");
  const locale = useLocale();
  const { endUsers, meter } = budget;
  if (endUsers === null) return null;
  if (endUsers.count === 0) return <p>{t("noEndUsers")}</p>;
  return (
    <details>
      <summary className="rounded-sm text-brand">{t("endUsers", { count: endUsers.count })}</summary>
      <ul className="figures mt-1 grid gap-0.5">
        {endUsers.top.map(({ id, spentAmount, usedBasisPoints }) => (
          <li key={id ?? ""} className="flex flex-wrap justify-between gap-x-3">
            <span {...(id === null ? {} : { title: id, className: "font-mono" })}>
              {id === null ? t("unnamedUser") : `…${id.slice(-SHORT_ID)}`}
            </span>
            <span>
              {amountOfMeter(spentAmount, meter, locale)}
              {usedBasisPoints === null ? "" : ` · ${percentText(usedBasisPoints, locale)}`}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
