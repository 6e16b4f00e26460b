"use client";
import { CirclePlus, Ellipsis, Gauge, History, PenLine, Snowflake, Sun } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { useErrorText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Menu, MenuContent, MenuItem, MenuSeparator, MenuTrigger } from "@/components/ui/menu";
import type { BudgetNode, BudgetView } from "@/lib/contracts/budgets";
import { useBudgetWrite, useDoneToast } from "./use-budgets";

export type BudgetPanel =
  | { readonly kind: "edit" | "topUp" | "history"; readonly node: BudgetNode; readonly budget: BudgetView }
  | { readonly kind: "create"; readonly node: BudgetNode };

interface ActionsProps {
  readonly node: BudgetNode;
  readonly budget: BudgetView;
  readonly onOpen: (panel: BudgetPanel) => void;
}

/** What may be done with a budget; what the person may not do is not offered, and refused by the server too. */
export function BudgetActions({ node, budget, onOpen }: ActionsProps): ReactElement {
  const t = useTranslations("budgets");
  const errorText = useErrorText();
  const done = useDoneToast();
  const write = useBudgetWrite();

  function setFrozen(frozen: boolean): void {
    write.mutate(
      { kind: "freeze", budgetId: budget.id, frozen },
      {
        onSuccess: (result) => done(t(frozen ? "frozenDone" : "unfrozenDone"), result),
        onError: (error) => toast.error(errorText(error)),
      },
    );
  }

  return (
    <div className="flex items-center justify-end gap-0.5">
      {node.canWrite ? (
        <Button
          variant="ghost"
          size="iconSm"
          aria-label={t("editOf", { name: budget.name })}
          onClick={() => onOpen({ kind: "edit", node, budget })}
        >
          <PenLine aria-hidden />
        </Button>
      ) : null}
      <Menu>
        <MenuTrigger asChild>
          <Button variant="ghost" size="iconSm" aria-label={t("actionsOf", { name: budget.name })}>
            <Ellipsis aria-hidden />
          </Button>
        </MenuTrigger>
        <MenuContent>
          {node.canGrant ? (
            <MenuItem onSelect={() => onOpen({ kind: "topUp", node, budget })}>
              <CirclePlus aria-hidden /> {t("topUp")}
            </MenuItem>
          ) : null}
          <MenuItem onSelect={() => onOpen({ kind: "history", node, budget })}>
            <History aria-hidden /> {t("history")}
          </MenuItem>
          {node.canWrite ? (
            <MenuItem onSelect={() => onOpen({ kind: "create", node })}>
              <Gauge aria-hidden /> {t("addAnother")}
            </MenuItem>
          ) : null}
          {node.canFreeze ? (
            <>
              <MenuSeparator />
              <MenuItem onSelect={() => setFrozen(!budget.frozen)}>
                {budget.frozen ? <Sun aria-hidden /> : <Snowflake aria-hidden />}
                {t(budget.frozen ? "unfreeze" : "freeze")}
              </MenuItem>
            </>
          ) : null}
        </MenuContent>
      </Menu>
    </div>
  );
}
