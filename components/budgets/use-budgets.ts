"use client";
/** Reads and writes of the budgets page. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { UseMutationResult, UseQueryResult } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { toast } from "sonner";
import { newIdempotencyKey, readConsole, writeConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { useErrorText } from "@/components/query/use-error-text";
import { budgetHistory, budgetTree } from "@/lib/contracts/budgets";
import type {
  BudgetHistory,
  BudgetTree,
  CreateBudgetInput,
  CreateGrantInput,
  UpdateBudgetInput,
} from "@/lib/contracts/budgets";
import { writeResult } from "@/lib/contracts/common";
import type { WriteResult } from "@/lib/contracts/common";

const POLL_MS = 4_000;
const UNDO_MS = 10_000;

export function useBudgetTree(): UseQueryResult<BudgetTree> {
  return useQuery({
    queryKey: queryKeys.budgets,
    queryFn: ({ signal }) => readConsole("/api/console/budgets", budgetTree, signal),
    refetchInterval: POLL_MS,
  });
}

export function useBudgetHistory(budgetId: string): UseQueryResult<BudgetHistory> {
  return useQuery({
    queryKey: queryKeys.budgetHistory(budgetId),
    queryFn: ({ signal }) => readConsole(`/api/console/budgets/${budgetId}/history`, budgetHistory, signal),
  });
}

/** Shows what was done, with Undo for ten seconds. Undo is a real use case: it writes its own audit row. */
export function useDoneToast(): (text: string, result: WriteResult) => void {
  const c = useTranslations("common");
  const errorText = useErrorText();
  const client = useQueryClient();
  return (text, result) => {
    const undo = async (): Promise<void> => {
      try {
        await writeConsole("/api/console/undo", {
          method: "POST",
          body: { auditId: result.auditId },
          schema: writeResult,
          idempotencyKey: `undo-${result.auditId}`,
        });
        toast.success(c("undone"));
      } catch (error) {
        toast.error(errorText(error), { duration: Infinity, closeButton: true });
      } finally {
        await client.invalidateQueries();
      }
    };
    toast.success(text, {
      duration: UNDO_MS,
      ...(result.undoable ? { action: { label: c("undo"), onClick: () => void undo() } } : {}),
    });
  };
}

type BudgetWrite =
  | { readonly kind: "create"; readonly input: CreateBudgetInput }
  | { readonly kind: "update"; readonly budgetId: string; readonly input: UpdateBudgetInput }
  | { readonly kind: "freeze"; readonly budgetId: string; readonly frozen: boolean }
  | { readonly kind: "grant"; readonly budgetId: string; readonly input: CreateGrantInput };

function requestOf(write: BudgetWrite): { path: string; method: "POST" | "PATCH"; body: unknown } {
  switch (write.kind) {
    case "create":
      return { path: "/api/console/budgets", method: "POST", body: write.input };
    case "update":
      return { path: `/api/console/budgets/${write.budgetId}`, method: "PATCH", body: write.input };
    case "freeze":
      return { path: `/api/console/budgets/${write.budgetId}/freeze`, method: "POST", body: { frozen: write.frozen } };
    case "grant":
      return { path: `/api/console/budgets/${write.budgetId}/grants`, method: "POST", body: write.input };
  }
}

/** One write of a budget. A failed one says so only through its error: forms keep what was typed. */
export function useBudgetWrite(): UseMutationResult<WriteResult, Error, BudgetWrite> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (write: BudgetWrite) => {
      const { path, method, body } = requestOf(write);
      return writeConsole(path, { method, body, schema: writeResult, idempotencyKey: newIdempotencyKey() });
    },
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.budgets }),
  });
}
