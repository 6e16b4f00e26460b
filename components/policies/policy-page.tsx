"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { QueryView } from "@/components/query/query-view";
import { BackLink } from "@/components/shell/back-link";
import { PageHeader } from "@/components/shell/page-header";
import { Card, CardHeader } from "@/components/ui/card";
import { Notice } from "@/components/ui/notice";
import { SkeletonCards } from "@/components/ui/skeleton";
import type { PolicyList, PolicyVersionView, PolicyView } from "@/lib/contracts/policies";
import { PolicyChanges } from "./policy-changes";
import { PolicyEditor } from "./policy-editor";
import { RolloutCard } from "./rollout-card";
import { TargetCard } from "./target-card";
import { activeVersionOf, usePolicies } from "./use-policies";
import { VersionList } from "./version-list";

function Policy({ list, policy }: { readonly list: PolicyList; readonly policy: PolicyView }): ReactElement {
  const t = useTranslations("policies");
  const [from, setFrom] = useState<PolicyVersionView | null>(null);
  const active = activeVersionOf(policy);
  const base = from ?? active;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="grid gap-4">
        {from === null ? null : <Notice>{t("editingFrom", { number: from.number })}</Notice>}
        {list.canWrite ? (
          <PolicyEditor
            key={`${base?.id ?? ""} ${policy.activeVersionId ?? ""}`}
            list={list}
            policy={policy}
            base={base?.document ?? {}}
          />
        ) : (
          <Card>
            <CardHeader title={t("settingsTitle")} note={t("readOnly")} />
            <div className="px-4 pb-4 sm:px-5">
              <PolicyChanges before={{}} after={active?.document ?? {}} />
            </div>
          </Card>
        )}
      </div>
      <div className="grid gap-4">
        <RolloutCard list={list} policy={policy} />
        <VersionList
          list={list}
          policy={policy}
          onEdit={
            list.canWrite
              ? (version) => {
                  setFrom(version);
                  window.scrollTo({ top: 0 });
                }
              : null
          }
        />
        <TargetCard list={list} policy={policy} />
      </div>
    </div>
  );
}

export function PolicyPage({ policyId }: { readonly policyId: string }): ReactElement {
  const t = useTranslations("policies");
  const found = usePolicies();
  const policy = found.data?.policies.find((one) => one.id === policyId);
  return (
    <>
      <BackLink href="/policies" text={t("all")} />
      <PageHeader title={policy?.name ?? t("title")} lead={t("policyLead")} />
      <QueryView
        query={found}
        skeleton={<SkeletonCards count={2} />}
        empty={() => (policy === undefined ? { title: t("goneTitle"), body: t("goneBody") } : null)}
      >
        {(list) => (policy === undefined ? null : <Policy list={list} policy={policy} />)}
      </QueryView>
    </>
  );
}
