"use client";
import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { SkeletonCards } from "@/components/ui/skeleton";
import { tokenIssuerList } from "@/lib/contracts/token-issuers";
import type { TokenIssuerList, TokenIssuerView } from "@/lib/contracts/token-issuers";
import { IssuerCard } from "./issuer-card";
import { IssuerDrawer } from "./issuer-drawer";
import { RemoveIssuerDialog } from "./remove-dialog";

type IssuerPanel =
  | { readonly kind: "edit"; readonly issuer: TokenIssuerView | null }
  | { readonly kind: "remove"; readonly issuer: TokenIssuerView };

function Panel({
  panel,
  list,
  onClose,
}: {
  readonly panel: IssuerPanel | null;
  readonly list: TokenIssuerList;
  readonly onClose: () => void;
}): ReactElement | null {
  if (panel === null) return null;
  return panel.kind === "edit" ? (
    <IssuerDrawer list={list} issuer={panel.issuer} onClose={onClose} />
  ) : (
    <RemoveIssuerDialog issuer={panel.issuer} onClose={onClose} />
  );
}

export function TokenIssuersPage(): ReactElement {
  const t = useTranslations("issuers");
  const [panel, setPanel] = useState<IssuerPanel | null>(null);
  const found = useQuery({
    queryKey: queryKeys.tokenIssuers,
    queryFn: ({ signal }) => readConsole("/api/console/token-issuers", tokenIssuerList, signal),
  });
  const list = found.data;
  const add = (
    <Button variant="primary" onClick={() => setPanel({ kind: "edit", issuer: null })}>
      <Plus aria-hidden /> {t("create")}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={t("lead")}
        actions={list === undefined || list.issuers.length === 0 ? undefined : add}
      />
      <QueryView
        query={found}
        skeleton={<SkeletonCards />}
        empty={({ issuers }) =>
          issuers.length === 0 ? { title: t("emptyTitle"), body: t("emptyBody"), action: add } : null
        }
      >
        {(shown) => (
          <div className="grid gap-4">
            {shown.issuers.map((issuer) => (
              <IssuerCard
                key={issuer.id}
                list={shown}
                issuer={issuer}
                onEdit={() => setPanel({ kind: "edit", issuer })}
                onRemove={() => setPanel({ kind: "remove", issuer })}
              />
            ))}
          </div>
        )}
      </QueryView>
      {list === undefined ? null : <Panel panel={panel} list={list} onClose={() => setPanel(null)} />}
    </>
  );
}
