"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Notice } from "@/components/ui/notice";
import { problemKey } from "./import-problems";
import type { ImportProblem } from "./import-problems";

/** As many as the server names of one file. */
const MAX_NAMED = 50;

/** Every mistake of a file with its place. The file is taken whole or not at all, so this is all that happened. */
export function ImportProblemList({ problems }: { readonly problems: readonly ImportProblem[] }): ReactElement {
  const t = useTranslations("imports");
  const p = useTranslations("importProblems");
  return (
    <section aria-live="polite" data-testid="import-problems">
      <Notice tone="danger" role="alert" icon={<TriangleAlert aria-hidden className="text-danger" />}>
        <p className="font-medium">
          {t(problems.length < MAX_NAMED ? "problems" : "problemsMany", { count: problems.length })}
        </p>
        <p className="text-[0.8125rem] text-soft">{t("nothingTaken")}</p>
      </Notice>
      <ol className="mt-3 divide-y rounded-lg border text-[0.8125rem]">
        {problems.map((problem) => {
          const key = problemKey(problem.text);
          return (
            <li
              key={`${String(problem.line)}:${problem.path}`}
              className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 px-3.5 py-2"
            >
              <span className="figures text-soft">
                {problem.line === null ? t("wholeFile") : t("line", { line: problem.line })}
              </span>
              <span className="min-w-0">
                {problem.path === "" ? null : <span className="mr-2 font-mono text-xs break-all">{problem.path}</span>}
                {key === undefined ? <span lang="en">{problem.text}</span> : p(key)}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
