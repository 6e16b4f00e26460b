"use client";
import { Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import type { ReactElement } from "react";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Notice } from "@/components/ui/notice";
import { SkeletonCards } from "@/components/ui/skeleton";
import type { ProviderList } from "@/lib/contracts/models";
import { DeploymentDrawer } from "./deployment-drawer";
import { LimitDrawer, RemoveLimitDialog } from "./limit-drawer";
import { ProviderCard } from "./provider-card";
import { ProviderDrawer } from "./provider-drawer";
import type { ProviderPanel } from "./provider-panel";
import { useProviders } from "./use-providers";

function Panel({
  panel,
  list,
  onClose,
}: {
  readonly panel: ProviderPanel | null;
  readonly list: ProviderList;
  readonly onClose: () => void;
}): ReactElement | null {
  if (panel === null) return null;
  switch (panel.kind) {
    case "provider":
      return <ProviderDrawer list={list} provider={panel.provider} onClose={onClose} />;
    case "deployment":
      return <DeploymentDrawer list={list} provider={panel.provider} deployment={panel.deployment} onClose={onClose} />;
    case "limit":
      return <LimitDrawer list={list} provider={panel.provider} budget={panel.budget} onClose={onClose} />;
    case "limitRemoval":
      return <RemoveLimitDialog provider={panel.provider} budget={panel.budget} onClose={onClose} />;
  }
}

export function ProvidersPage(): ReactElement {
  const t = useTranslations("providers");
  const found = useProviders();
  const list = found.data;
  const [panel, setPanel] = useState<ProviderPanel | null>(null);
  const add =
    list?.canWrite === true ? (
      <Button variant="primary" onClick={() => setPanel({ kind: "provider", provider: null })}>
        <Plus aria-hidden /> {t("create")}
      </Button>
    ) : undefined;
  return (
    <>
      <PageHeader title={t("title")} lead={t("lead")} actions={list?.providers.length === 0 ? undefined : add} />
      {list?.canWrite === true && list.models.length === 0 ? (
        <Notice className="mb-4">
          {t("noModels")}{" "}
          <Link href="/prices" className="text-brand underline underline-offset-4">
            {t("toModels")}
          </Link>
        </Notice>
      ) : null}
      <QueryView
        query={found}
        skeleton={<SkeletonCards />}
        empty={({ providers }) =>
          providers.length === 0 ? { title: t("emptyTitle"), body: t("emptyBody"), action: add } : null
        }
      >
        {(shown) => (
          <div className="grid gap-4">
            {shown.providers.map((provider) => (
              <ProviderCard key={provider.id} list={shown} provider={provider} onOpen={setPanel} />
            ))}
          </div>
        )}
      </QueryView>
      {list === undefined ? null : <Panel panel={panel} list={list} onClose={() => setPanel(null)} />}
    </>
  );
}
