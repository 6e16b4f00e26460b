"use client";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useErrorText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { Field, Select } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { PolicyList, PolicyTarget, PolicyView } from "@/lib/contracts/policies";

interface CardProps {
  readonly list: PolicyList;
  readonly policy: PolicyView;
}

function bodyOf({ id, kind }: PolicyTarget, policyId: string | null): object {
  return kind === "key" ? { consumerId: null, apiKeyId: id, policyId } : { consumerId: id, apiKeyId: null, policyId };
}

/** Where the policy holds: it counts for each of these nodes and all below them. */
export function TargetCard({ list, policy }: CardProps): ReactElement {
  const t = useTranslations("policies");
  const c = useTranslations("common");
  const b = useTranslations("budgets");
  const errorText = useErrorText();
  const write = useConsoleWrite(queryKeys.policies, queryKeys.budgets);
  const [nodeId, setNodeId] = useState("");
  const free = list.nodes.filter((node) => node.policyId !== policy.id);
  const chosen = free.find((node) => node.id === nodeId);
  const other = list.policies.find((one) => one.id === chosen?.policyId);

  function put(target: PolicyTarget, policyId: string | null, before: string | null, isUndo = false): void {
    write.mutate(
      { path: "/api/console/policy-assignments", method: "POST", body: bodyOf(target, policyId) },
      {
        onSuccess: () => {
          setNodeId("");
          toast.success(isUndo ? c("undone") : t(policyId === null ? "takenOff" : "putOnDone"), {
            duration: 10_000,
            ...(isUndo ? {} : { action: { label: c("undo"), onClick: () => put(target, before, policyId, true) } }),
          });
        },
      },
    );
  }

  return (
    <Card aria-labelledby="policy-targets">
      <CardHeader id="policy-targets" title={t("targetsTitle")} note={t("targetsNote")} />
      {write.error === null ? null : (
        <div className="px-4 pb-3 sm:px-5">
          <Notice tone="danger" role="alert">
            {errorText(write.error)}
          </Notice>
        </div>
      )}
      <ul className="divide-y border-t text-[0.8125rem]">
        {policy.targets.length === 0 ? <li className="px-4 py-3 text-soft sm:px-5">{t("nowhere")}</li> : null}
        {policy.targets.map((target) => (
          <li key={target.id} className="flex min-h-11 items-center justify-between gap-3 px-4 py-1.5 sm:px-5">
            <span className="min-w-0 break-words">
              <span className="font-medium">{target.path.join(" / ")}</span>
              <span className="text-soft">{` · ${b(`kinds.${target.kind}`)}`}</span>
            </span>
            {list.nodes.some((node) => node.id === target.id) ? (
              <Button
                variant="ghost"
                size="iconSm"
                aria-label={t("takeOff", { name: target.path.at(-1) ?? "" })}
                disabled={write.isPending}
                onClick={() => put(target, null, policy.id)}
              >
                <X aria-hidden />
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      {free.length === 0 ? null : (
        <div className="flex flex-wrap items-end gap-2 border-t px-4 py-3 sm:px-5">
          <Field
            label={t("putOnLabel")}
            className="min-w-0 flex-1 basis-48"
            {...(other === undefined ? {} : { hint: t("replaces", { name: other.name }) })}
          >
            {(attributes) => (
              <Select {...attributes} value={nodeId} onChange={(event) => setNodeId(event.target.value)}>
                <option value="">{t("chooseNode")}</option>
                {free.map((node) => (
                  <option key={node.id} value={node.id}>
                    {node.path.join(" / ")}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Button
            disabled={chosen === undefined || write.isPending}
            onClick={() => (chosen === undefined ? undefined : put(chosen, policy.id, chosen.policyId))}
          >
            {t("putOnAction")}
          </Button>
        </div>
      )}
    </Card>
  );
}
