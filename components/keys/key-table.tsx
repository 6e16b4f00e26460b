"use client";
import { Ellipsis, RefreshCw, Trash2 } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { BudgetBar } from "@/components/budgets/budget-bar";
import { Ago } from "@/components/format/figures";
import { moneyText } from "@/components/format/money";
import { dateText, resetText } from "@/components/format/time";
import { Badge } from "@/components/ui/badge";
import type { Tone } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/components/ui/menu";
import type { ApiKeyList, ApiKeyView, EffectiveBudget } from "@/lib/contracts/keys";

export type KeyPanel =
  { readonly kind: "rotate" | "revoke"; readonly apiKey: ApiKeyView } | { readonly kind: "create" };

interface TableProps {
  readonly list: ApiKeyList;
  readonly nowMs: number;
  readonly onOpen: (panel: KeyPanel) => void;
}

const STATE_TONES: Readonly<Record<ApiKeyView["state"], Tone>> = {
  active: "good",
  expiring: "warn",
  expired: "neutral",
  frozen: "danger",
  revoked: "neutral",
};

function Hints({ apiKey, timeZone }: { readonly apiKey: ApiKeyView; readonly timeZone: string }): ReactElement {
  const t = useTranslations("keys");
  const locale = useLocale();
  return (
    <>
      {apiKey.secrets.map((secret) => (
        <p key={`${secret.prefix}${secret.lastFour}`} className="font-mono text-xs text-soft lg:whitespace-nowrap">
          {`${secret.prefix}…${secret.lastFour}`}
          {secret.validUntilMs === null ? null : (
            <span className="ml-1.5 font-sans text-warn-ink">
              {t("graceUntil", { at: resetText(secret.validUntilMs, locale, timeZone) })}
            </span>
          )}
        </p>
      ))}
    </>
  );
}

function Effective({
  budget,
  list,
}: {
  readonly budget: EffectiveBudget | null;
  readonly list: ApiKeyList;
}): ReactElement {
  const t = useTranslations("keys");
  const b = useTranslations("budgets");
  const locale = useLocale();
  if (budget === null) return <span className="text-xs text-soft">{t("noEffective")}</span>;
  const bar = {
    spentAmount: budget.usedAmount,
    heldAmount: "0",
    limitAmount: budget.limitAmount,
    grantedAmount: "0",
    usedBasisPoints: budget.usedBasisPoints,
    marks: budget.marks,
    meter: "cost" as const,
  };
  return (
    <>
      <BudgetBar budget={bar} label={t("effectiveLabel", { name: budget.consumerName })} />
      <p className="figures mt-1 text-xs text-soft">
        {t("effectiveLeft", {
          left: moneyText(budget.leftAmount, locale),
          scope: b(`kinds.${budget.scope as "app"}`),
          name: budget.consumerName,
        })}
      </p>
      <p className="figures text-xs whitespace-nowrap text-soft">
        {t("effectiveResets", { at: resetText(budget.resetsAtMs, locale, list.organisation.timeZone) })}
      </p>
    </>
  );
}

function KeyRow({ apiKey, list, nowMs, onOpen }: TableProps & { readonly apiKey: ApiKeyView }): ReactElement {
  const t = useTranslations("keys");
  const b = useTranslations("budgets");
  const l = useTranslations("ladders");
  const locale = useLocale();
  const { timeZone } = list.organisation;
  const cell = "px-3 py-2.5 align-top max-lg:block max-lg:px-4 max-lg:py-0.5";
  const label = (text: string): ReactElement => <span className="mr-2 text-xs text-soft lg:hidden">{text}</span>;
  const isDead = apiKey.state === "revoked" || apiKey.state === "expired";
  return (
    <tr
      className={cn(
        "max-lg:relative max-lg:block max-lg:border-t max-lg:py-3 max-lg:first:border-t-0",
        isDead && "text-soft",
      )}
      data-key={apiKey.name}
    >
      <th scope="row" className={cn(cell, "max-w-72 text-left font-normal max-lg:max-w-none max-lg:pr-16")}>
        <span className="flex flex-wrap items-center gap-x-2">
          <span className={cn("font-medium", apiKey.state === "revoked" && "line-through decoration-1")}>
            {apiKey.name}
          </span>
          <Badge tone={STATE_TONES[apiKey.state]} className="lg:hidden">
            {t(`states.${apiKey.state}`)}
          </Badge>
        </span>
        <Hints apiKey={apiKey} timeZone={timeZone} />
      </th>
      <td className={cell}>
        {label(t("col.app"))}
        <span title={apiKey.path.join(" / ")}>{apiKey.appName}</span>
        <span className="text-xs text-soft lg:block">
          <span className="lg:hidden"> · </span>
          {apiKey.path.slice(1, -1).join(" / ")}
        </span>
      </td>
      <td className={cell}>
        {label(t("col.use"))}
        {b(`environments.${apiKey.environment}`)}
        <span className="text-xs text-soft lg:block">
          <span className="lg:hidden"> · </span>
          {l.has(`classes.${apiKey.trafficClass as "core"}`)
            ? l(`classes.${apiKey.trafficClass as "core"}`)
            : apiKey.trafficClass}
          {apiKey.isVip ? ` · ${t("vip")}` : ""}
        </span>
      </td>
      <td className={cn(cell, "w-[24%] min-w-44 max-lg:w-full")}>
        {isDead ? null : <Effective budget={apiKey.effective} list={list} />}
      </td>
      <td className={cn(cell, "whitespace-nowrap")}>
        {label(t("col.lastUsed"))}
        {apiKey.lastUsedAtMs === null ? (
          <span className="text-soft">{t("neverUsed")}</span>
        ) : (
          <Ago ms={apiKey.lastUsedAtMs} nowMs={nowMs} timeZone={timeZone} />
        )}
      </td>
      <td className={cn(cell, "figures whitespace-nowrap")}>
        {label(t("col.expires"))}
        {apiKey.expiresAtMs === null ? (
          <span className="text-soft">{t("never")}</span>
        ) : (
          dateText(apiKey.expiresAtMs, locale, timeZone)
        )}
      </td>
      <td className={cn(cell, "max-lg:hidden")}>
        <Badge tone={STATE_TONES[apiKey.state]}>{t(`states.${apiKey.state}`)}</Badge>
      </td>
      <td className="px-2 py-2 text-right align-top max-lg:absolute max-lg:top-2 max-lg:right-1">
        {apiKey.canWrite ? (
          <Menu>
            <MenuTrigger asChild>
              <Button variant="ghost" size="iconSm" aria-label={t("actionsOf", { name: apiKey.name })}>
                <Ellipsis aria-hidden />
              </Button>
            </MenuTrigger>
            <MenuContent>
              <MenuItem onSelect={() => onOpen({ kind: "rotate", apiKey })}>
                <RefreshCw aria-hidden /> {t("rotate")}
              </MenuItem>
              <MenuItem danger onSelect={() => onOpen({ kind: "revoke", apiKey })}>
                <Trash2 aria-hidden /> {t("revoke")}
              </MenuItem>
            </MenuContent>
          </Menu>
        ) : null}
      </td>
    </tr>
  );
}

export function KeyTable(props: TableProps): ReactElement {
  const t = useTranslations("keys");
  const head = "sticky top-14 z-10 bg-surface px-3 py-2 font-medium shadow-[inset_0_-1px_0_var(--line)]";
  return (
    <table className="w-full border-separate border-spacing-0 text-[0.8125rem] max-lg:block lg:[&_tbody_tr>*]:border-t">
      <thead className="text-left text-xs text-soft max-lg:hidden">
        <tr>
          <th className={cn(head, "rounded-tl-xl")}>{t("col.name")}</th>
          <th className={head}>{t("col.app")}</th>
          <th className={head}>{t("col.use")}</th>
          <th className={head}>{t("col.effective", { currency: props.list.organisation.currency })}</th>
          <th className={head}>{t("col.lastUsed")}</th>
          <th className={head}>{t("col.expires")}</th>
          <th className={head}>{t("col.state")}</th>
          <th className={cn(head, "rounded-tr-xl")}>
            <span className="sr-only">{t("col.actions")}</span>
          </th>
        </tr>
      </thead>
      <tbody className="max-lg:block">
        {props.list.keys.map((apiKey) => (
          <KeyRow key={apiKey.id} apiKey={apiKey} {...props} />
        ))}
      </tbody>
    </table>
  );
}
