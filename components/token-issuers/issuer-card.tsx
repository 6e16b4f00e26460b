"use client";
import { Ellipsis, Pencil, Power, Trash2 } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import type { ReactElement, ReactNode } from "react";
import { toast } from "sonner";
import { dateText } from "@/components/format/time";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useErrorText } from "@/components/query/use-error-text";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Menu, MenuContent, MenuItem, MenuSeparator, MenuTrigger } from "@/components/ui/menu";
import type { TokenIssuerList, TokenIssuerView } from "@/lib/contracts/token-issuers";
import { draftOf, toInput } from "./issuer-draft";

interface CardProps {
  readonly list: TokenIssuerList;
  readonly issuer: TokenIssuerView;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-soft">{label}</dt>
      <dd className="mt-0.5 text-[0.8125rem] break-words">{children}</dd>
    </div>
  );
}

/** Switches an issuer off and on again; whoever does it by mistake does it once more. */
function useSwitch(): (issuer: TokenIssuerView) => void {
  const t = useTranslations("issuers");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const write = useConsoleWrite(queryKeys.tokenIssuers);
  const set = (issuer: TokenIssuerView, disabled: boolean, isUndo: boolean): void => {
    const checked = toInput({ ...draftOf(issuer), disabled });
    if (!checked.ok) {
      toast.error(t("needsEdit"));
      return;
    }
    write.mutate(
      { path: "/api/console/token-issuers", method: "POST", body: checked.input },
      {
        onSuccess: () =>
          toast.success(isUndo ? c("undone") : t(disabled ? "switchedOff" : "switchedOn", { name: issuer.name }), {
            duration: 10_000,
            ...(isUndo ? {} : { action: { label: c("undo"), onClick: () => set(issuer, !disabled, true) } }),
          }),
        onError: (error) => toast.error(errorText(error), { duration: Infinity, closeButton: true }),
      },
    );
  };
  return (issuer) => set(issuer, !issuer.disabled, false);
}

export function IssuerCard({ list, issuer, onEdit, onRemove }: CardProps): ReactElement {
  const t = useTranslations("issuers");
  const b = useTranslations("budgets");
  const l = useTranslations("ladders");
  const locale = useLocale();
  const toggle = useSwitch();
  const { secretChangedAtMs, trafficClass, consumers } = issuer;
  const names = new Map(list.consumers.map((one) => [one.id, one.path.slice(1).join(" / ") || one.path.join(" / ")]));
  return (
    <Card aria-labelledby={`issuer-${issuer.id}`} data-issuer={issuer.name}>
      <header className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 pt-3.5 pb-3 sm:px-5">
        <div className="min-w-0 flex-1">
          <h2 id={`issuer-${issuer.id}`} className="flex flex-wrap items-center gap-2 text-[0.9375rem] font-semibold">
            {issuer.name}
            <Badge>{t(`kinds.${issuer.kind}`)}</Badge>
            {issuer.disabled ? <Badge tone="warn">{t("disabled")}</Badge> : null}
          </h2>
          <p className="mt-0.5 font-mono text-xs break-all text-soft">{issuer.issuer}</p>
        </div>
        <Menu>
          <MenuTrigger asChild>
            <Button variant="ghost" size="iconSm" aria-label={t("actionsOf", { name: issuer.name })}>
              <Ellipsis aria-hidden />
            </Button>
          </MenuTrigger>
          <MenuContent>
            <MenuItem onSelect={onEdit}>
              <Pencil aria-hidden /> {t("edit")}
            </MenuItem>
            <MenuItem onSelect={() => toggle(issuer)}>
              <Power aria-hidden /> {t(issuer.disabled ? "switchOn" : "switchOff")}
            </MenuItem>
            <MenuSeparator />
            <MenuItem danger onSelect={onRemove}>
              <Trash2 aria-hidden /> {t("remove")}
            </MenuItem>
          </MenuContent>
        </Menu>
      </header>
      <dl className="grid grid-cols-1 gap-x-6 gap-y-3 border-t p-4 sm:grid-cols-2 sm:p-5 xl:grid-cols-4">
        <Fact label={t(issuer.kind === "jwks" ? "field.jwksUrl" : "field.introspectionUrl")}>
          <span className="font-mono text-xs break-all">{issuer.endpoint}</span>
          {secretChangedAtMs === null ? null : (
            <span className="block text-xs text-soft">
              {t("secretSince", { at: dateText(secretChangedAtMs, locale, list.organisation.timeZone) })}
            </span>
          )}
        </Fact>
        <Fact label={t("aud")}>
          <span className="font-mono text-xs break-all">{issuer.audiences.join(", ")}</span>
        </Fact>
        <Fact label={t("field.consumerClaim")}>
          <span className="font-mono text-xs break-all">{issuer.claims.consumer.join(" > ")}</span>
          <span className="block text-xs text-soft">
            {consumers === null ? t("unmapped") : t("mappedCount", { count: Object.keys(consumers).length })}
          </span>
          {consumers === null ? null : (
            <ul className="mt-1 text-xs text-soft">
              {Object.entries(consumers)
                .slice(0, 3)
                .map(([value, id]) => (
                  <li key={value} className="break-words">
                    <span className="font-mono">{value}</span>
                    {` → ${names.get(id) ?? id}`}
                  </li>
                ))}
            </ul>
          )}
        </Fact>
        <Fact label={t("field.use")}>
          {b(`environments.${issuer.environment}`)}
          {` · ${l.has(`classes.${trafficClass as "core"}`) ? l(`classes.${trafficClass as "core"}`) : trafficClass}`}
        </Fact>
      </dl>
    </Card>
  );
}
