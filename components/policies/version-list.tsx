"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { dateTimeText } from "@/components/format/time";
import { ConsoleRequestError } from "@/components/query/console-fetch";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import type { PolicyList, PolicyVersionView, PolicyView } from "@/lib/contracts/policies";
import { PolicyChanges } from "./policy-changes";
import { activeVersionOf } from "./use-policies";

interface ListProps {
  readonly list: PolicyList;
  readonly policy: PolicyView;
  /** Takes an older document into the form; null where the person may only read. */
  readonly onEdit: ((version: PolicyVersionView) => void) | null;
}

/** What going back would change, before it does. */
function ActivateDialog({
  policy,
  version,
  onClose,
}: {
  readonly policy: PolicyView;
  readonly version: PolicyVersionView;
  readonly onClose: () => void;
}): ReactElement {
  const t = useTranslations("policies");
  const write = useConsoleWrite(queryKeys.policies);
  const isConflict = write.error instanceof ConsoleRequestError && write.error.code === "conflict";
  const activate = (): void =>
    write.mutate(
      {
        path: `/api/console/policies/${policy.id}/activate`,
        method: "POST",
        body: { policyVersionId: version.id },
      },
      {
        onSuccess: () => {
          toast.success(t("activated", { number: version.number }));
          onClose();
        },
      },
    );
  return (
    <FormFrame
      shape="dialog"
      className="md:max-w-2xl"
      title={t("activateTitle", { number: version.number })}
      description={t("activateLead")}
      submitLabel={t("activate")}
      isPending={write.isPending}
      error={write.error}
      {...(isConflict ? { said: t("rolloutOpen") } : {})}
      onSubmit={activate}
      onClose={onClose}
    >
      <PolicyChanges before={activeVersionOf(policy)?.document ?? {}} after={version.document} />
    </FormFrame>
  );
}

export function VersionList({ list, policy, onEdit }: ListProps): ReactElement {
  const t = useTranslations("policies");
  const locale = useLocale();
  const [chosen, setChosen] = useState<PolicyVersionView | null>(null);
  return (
    <Card aria-labelledby="policy-versions">
      <CardHeader id="policy-versions" title={t("versionsTitle")} />
      {policy.versions.length === 0 ? (
        <p className="px-4 pb-4 text-[0.8125rem] text-soft sm:px-5">{t("versionsEmpty")}</p>
      ) : (
        <ol className="divide-y border-t text-[0.8125rem]">
          {policy.versions.map((version) => {
            const isActive = version.id === policy.activeVersionId;
            return (
              <li key={version.id} className="px-4 py-2.5 sm:px-5" data-version={version.number}>
                <p className="flex flex-wrap items-center gap-2">
                  <span className="font-medium">{t("version", { number: version.number })}</span>
                  {isActive ? <Badge tone="good">{t("inForce")}</Badge> : null}
                </p>
                <p className="text-xs text-soft">
                  {t("publishedBy", {
                    author: version.author ?? t("system"),
                    at: dateTimeText(version.createdAtMs, locale, list.organisation.timeZone),
                  })}
                </p>
                {version.note === null ? null : <p className="mt-0.5 break-words">{version.note}</p>}
                {onEdit === null || isActive ? null : (
                  <p className="mt-1.5 flex flex-wrap gap-2">
                    <Button size="sm" onClick={() => setChosen(version)}>
                      {t("activate")}
                    </Button>
                    <Button size="sm" variant="ghost" onClick={() => onEdit(version)}>
                      {t("editFrom")}
                    </Button>
                  </p>
                )}
              </li>
            );
          })}
        </ol>
      )}
      {chosen === null ? null : <ActivateDialog policy={policy} version={chosen} onClose={() => setChosen(null)} />}
    </Card>
  );
}
