"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import type { FieldErrors } from "@/components/format/checked";
import { amountOfMeter } from "@/components/format/money";
import { ConsoleRequestError } from "@/components/query/console-fetch";
import { FormFrame } from "@/components/query/form-frame";
import type { BudgetNode, BudgetTree, BudgetView } from "@/lib/contracts/budgets";
import { draftOf, emptyDraft, toCreateInput, toUpdateInput } from "./budget-draft";
import { BudgetForm } from "./budget-form";
import { useBudgetWrite, useDoneToast } from "./use-budgets";

interface DrawerProps {
  readonly tree: BudgetTree;
  readonly node: BudgetNode;
  /** The budget as it was when the drawer was opened; null: a new one. */
  readonly budget: BudgetView | null;
  readonly onClose: () => void;
}

/** The budget as it stands now, when it is no longer the one that was opened. */
function currentOf(tree: BudgetTree, budget: BudgetView): BudgetView {
  return tree.nodes.flatMap((node) => node.budgets).find((one) => one.id === budget.id) ?? budget;
}

/** What another person has made of the budget meanwhile. */
function Conflict({ current }: { readonly current: BudgetView }): ReactElement {
  const t = useTranslations("budgets");
  const locale = useLocale();
  return (
    <>
      <p className="font-medium">{t("conflictTitle")}</p>
      <p>
        {t("conflictBody", {
          limit: amountOfMeter(current.limitAmount, current.meter, locale),
          enforcement: t(`enforcementShort.${current.enforcement}`),
        })}
      </p>
    </>
  );
}

export function BudgetDrawer({ tree, node, budget, onClose }: DrawerProps): ReactElement {
  const t = useTranslations("budgets");
  const c = useTranslations("common");
  const done = useDoneToast();
  const write = useBudgetWrite();
  const [draft, setDraft] = useState(() => (budget === null ? emptyDraft(node.name) : draftOf(budget)));
  const [errors, setErrors] = useState<FieldErrors>({});
  const [version, setVersion] = useState(budget?.version ?? "");
  const isConflict = write.error instanceof ConsoleRequestError && write.error.code === "conflict";

  function submit(): void {
    const target =
      node.kind === "key" ? { consumerId: null, apiKeyId: node.id } : { consumerId: node.id, apiKeyId: null };
    // After a conflict the person has seen the other change; saving again is meant against that state.
    const seen = isConflict && budget !== null ? currentOf(tree, budget).version : version;
    const checked = budget === null ? toCreateInput(draft, target) : toUpdateInput(draft, budget, seen);
    setErrors(checked.ok ? {} : checked.errors);
    if (!checked.ok) return;
    setVersion(seen);
    const request =
      budget === null
        ? ({ kind: "create", input: checked.input } as const)
        : ({ kind: "update", budgetId: budget.id, input: checked.input } as const);
    write.mutate(request as Parameters<typeof write.mutate>[0], {
      onSuccess: (result) => {
        done(t(budget === null ? "created" : "saved"), result);
        onClose();
      },
      onError: (error) => {
        if (error instanceof ConsoleRequestError && error.code === "invalid_request") setErrors(error.fields);
      },
    });
  }

  const current = budget === null ? null : currentOf(tree, budget);
  return (
    <FormFrame
      shape="drawer"
      title={t(budget === null ? "createTitle" : "editTitle")}
      description={`${t(`kinds.${node.kind}`)} · ${node.name}`}
      submitLabel={budget === null ? t("createAction") : c("save")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      {...(isConflict && current !== null ? { said: <Conflict current={current} /> } : {})}
      onSubmit={submit}
      onClose={onClose}
    >
      <BudgetForm
        tree={tree}
        nodeId={node.id}
        budget={current}
        draft={draft}
        errors={errors}
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
      />
    </FormFrame>
  );
}
