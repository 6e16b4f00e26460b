"use client";
import { Plus } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useState } from "react";
import type { ReactElement } from "react";
import { dateTimeText } from "@/components/format/time";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { QueryView } from "@/components/query/query-view";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { fieldErrorsOf, useFieldText } from "@/components/query/use-error-text";
import { PageHeader } from "@/components/shell/page-header";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Field, Input } from "@/components/ui/field";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { PolicyList, PolicyView } from "@/lib/contracts/policies";
import { activeVersionOf, usePolicies } from "./use-policies";

function CreateDrawer({ onClose }: { readonly onClose: () => void }): ReactElement {
  const t = useTranslations("policies");
  const fieldText = useFieldText();
  const router = useRouter();
  const write = useConsoleWrite(queryKeys.policies);
  const [name, setName] = useState("");
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  function submit(): void {
    if (name.trim() === "") {
      setErrors({ name: "required" });
      return;
    }
    write.mutate(
      { path: "/api/console/policies", method: "POST", body: { name } },
      {
        onSuccess: ({ id }) => router.push(`/policies/${id}`),
        onError: (error) => setErrors(fieldErrorsOf(error)),
      },
    );
  }
  return (
    <FormFrame
      shape="drawer"
      title={t("create")}
      description={t("createLead")}
      submitLabel={t("create")}
      isPending={write.isPending}
      error={write.error}
      errors={errors}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label={t("name")} error={fieldText(errors["name"])}>
        {(attributes) => (
          <Input {...attributes} value={name} maxLength={80} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
    </FormFrame>
  );
}

function Row({ policy, list }: { readonly policy: PolicyView; readonly list: PolicyList }): ReactElement {
  const t = useTranslations("policies");
  const locale = useLocale();
  const active = activeVersionOf(policy);
  const places = policy.targets.map((target) => target.path.at(-1) ?? "").join(", ");
  return (
    <li className="px-4 py-3 sm:px-5" data-policy={policy.name}>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Link
          href={`/policies/${policy.id}`}
          className="inline-flex min-h-6 items-center font-medium text-brand underline-offset-4 hover:underline max-md:min-h-10"
        >
          {policy.name}
        </Link>
        {active === undefined ? (
          <Badge tone="warn">{t("nothingPublished")}</Badge>
        ) : (
          <Badge tone="good">{t("versionInForce", { number: active.number })}</Badge>
        )}
        {policy.rollout === null ? null : (
          <Badge tone="brand">
            {t("rollout", { number: policy.rollout.versionNumber, percent: policy.rollout.percent })}
          </Badge>
        )}
      </p>
      <p className="mt-0.5 text-xs text-soft">
        {policy.targets.length === 0 ? t("nowhere") : t("putOn", { places })}
        {active === undefined
          ? ""
          : ` · ${t("publishedBy", {
              author: active.author ?? t("system"),
              at: dateTimeText(active.createdAtMs, locale, list.organisation.timeZone),
            })}`}
      </p>
      {active?.note == null ? null : <p className="mt-1 text-[0.8125rem] break-words">{active.note}</p>}
    </li>
  );
}

export function PoliciesPage(): ReactElement {
  const t = useTranslations("policies");
  const found = usePolicies();
  const [isCreating, setCreating] = useState(false);
  const add =
    found.data?.canWrite === true ? (
      <Button variant="primary" onClick={() => setCreating(true)}>
        <Plus aria-hidden /> {t("create")}
      </Button>
    ) : undefined;
  return (
    <>
      <PageHeader title={t("title")} lead={t("lead")} actions={found.data?.policies.length === 0 ? undefined : add} />
      <QueryView
        query={found}
        skeleton={<SkeletonRows rows={4} />}
        empty={({ policies }) =>
          policies.length === 0 ? { title: t("emptyTitle"), body: t("emptyBody"), action: add } : null
        }
      >
        {(list) => (
          <Card>
            <ul className="divide-y">
              {list.policies.map((policy) => (
                <Row key={policy.id} policy={policy} list={list} />
              ))}
            </ul>
          </Card>
        )}
      </QueryView>
      {isCreating ? <CreateDrawer onClose={() => setCreating(false)} /> : null}
    </>
  );
}
