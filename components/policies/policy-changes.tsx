"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import type { PolicyDocument } from "@/lib/domain/policy";
import { diffPolicies } from "./policy-diff";

interface ChangesProps {
  readonly before: PolicyDocument;
  readonly after: PolicyDocument;
}

const SHOWN = 100;

/** What differs, setting by setting: what goes is struck out, what comes stands beside it. */
export function PolicyChanges({ before, after }: ChangesProps): ReactElement {
  const t = useTranslations("policies");
  const differences = diffPolicies(before, after);
  if (differences.length === 0) return <p className="text-[0.8125rem] text-soft">{t("noDifference")}</p>;
  return (
    <ul className="divide-y text-[0.8125rem]" data-testid="policy-changes">
      {differences.slice(0, SHOWN).map(({ setting, path, before: was, after: is }) => (
        <li
          key={`${setting}.${path}`}
          className="grid gap-x-4 gap-y-0.5 py-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]"
        >
          <span className="min-w-0">
            <span className="font-medium">{t(`settings.${setting}`)}</span>
            {path === "" ? null : <span className="ml-1.5 font-mono text-xs break-all text-soft">{path}</span>}
          </span>
          <span className="min-w-0 break-words">
            {was === null ? <span className="text-soft">{t("notSaid")}</span> : <del className="text-soft">{was}</del>}
            <span aria-hidden className="mx-1.5 text-soft">
              →
            </span>
            {is === null ? (
              <span className="text-soft">{t("notSaid")}</span>
            ) : (
              <ins className="font-medium no-underline">{is}</ins>
            )}
          </span>
        </li>
      ))}
      {differences.length > SHOWN ? (
        <li className="py-2 text-soft">{t("moreDifferences", { count: differences.length - SHOWN })}</li>
      ) : null}
    </ul>
  );
}
