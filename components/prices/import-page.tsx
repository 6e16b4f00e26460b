"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { ConsoleRequestError, newIdempotencyKey } from "@/components/query/console-fetch";
import { useErrorText } from "@/components/query/use-error-text";
import { BackLink } from "@/components/shell/back-link";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { EmptyState, Notice } from "@/components/ui/notice";
import { FxPreview } from "./fx-preview";
import type { ImportDraft } from "./import-draft";
import { ImportProblemList } from "./import-problem-list";
import { problemsOf } from "./import-problems";
import { ImportSource } from "./import-source";
import { PricePreview } from "./price-preview";
import { useApply, usePreview } from "./use-import";
import type { Preview } from "./use-import";
import { useImportUndo } from "./use-prices";

const UNDO_MS = 10_000;

/** Applied: says so, with the way back at hand for ten seconds; after that it stands in the list of imports. */
function useDone(): (importId: string) => void {
  const t = useTranslations("imports");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const undo = useImportUndo();
  const router = useRouter();
  return (importId) => {
    // By its promise: this page is gone when somebody takes the import back.
    const takeBack = (): void =>
      void undo.mutateAsync(importId).then(
        () => toast.success(c("undone")),
        (error: unknown) => toast.error(errorText(error), { duration: Infinity, closeButton: true }),
      );
    toast.success(t("applied"), { duration: UNDO_MS, action: { label: c("undo"), onClick: takeBack } });
    router.push("/prices");
  };
}

function Step({
  number,
  text,
  isCurrent,
}: {
  readonly number: number;
  readonly text: string;
  readonly isCurrent: boolean;
}): ReactElement {
  return (
    <li
      {...(isCurrent ? { "aria-current": "step" as const } : {})}
      className={isCurrent ? "font-semibold text-brand-strong" : "text-soft"}
    >
      {`${String(number)}. ${text}`}
    </li>
  );
}

/** The look at what would change, and the button that makes it so. */
function Review({
  seen,
  timeZone,
  onBack,
  onAgain,
}: {
  readonly seen: Preview;
  readonly timeZone: string;
  readonly onBack: () => void;
  readonly onAgain: () => void;
}): ReactElement {
  const t = useTranslations("imports");
  const errorText = useErrorText();
  const done = useDone();
  const apply = useApply();
  // One look is one intention: a second click, or a try after a lost answer, is the same write.
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [confirmed, setConfirmed] = useState<readonly string[]>([]);
  const asked =
    seen.kind === "fx"
      ? seen.preview.changes.flatMap((change) => (change.needsConfirmation ? [change.name] : []))
      : [...new Set(seen.preview.changes.flatMap((change) => (change.needsConfirmation ? [change.model] : [])))];
  const missing = asked.filter((name) => !confirmed.includes(name)).length;
  const confirm = (name: string, isConfirmed: boolean): void =>
    setConfirmed((before) => (isConfirmed ? [...before, name] : before.filter((one) => one !== name)));
  const common = { timeZone, confirmed, onConfirm: confirm };
  const isStale = apply.error instanceof ConsoleRequestError && apply.error.code === "conflict";
  if (seen.preview.changes.length === 0) {
    return (
      <Card>
        <EmptyState
          title={t("nothingTitle")}
          body={t("nothingBody")}
          action={<Button onClick={onBack}>{t("back")}</Button>}
        />
      </Card>
    );
  }
  return (
    <div className="grid gap-4">
      {seen.kind === "fx" ? (
        <FxPreview {...common} preview={seen.preview} />
      ) : (
        <PricePreview {...common} preview={seen.preview} />
      )}
      {apply.error === null ? null : (
        <Notice
          tone="danger"
          role="alert"
          icon={<TriangleAlert aria-hidden className="text-danger" />}
          {...(isStale ? { action: <Button onClick={onAgain}>{t("lookAgain")}</Button> } : {})}
        >
          {isStale ? t("stale") : errorText(apply.error)}
        </Notice>
      )}
      <div className="sticky bottom-0 z-20 -mx-4 flex flex-wrap items-center justify-end gap-x-3 gap-y-2 border-t bg-ground/95 px-4 py-3 backdrop-blur-sm max-lg:bottom-14 sm:mx-0 sm:px-0">
        {missing === 0 ? null : (
          <p className="mr-auto text-[0.8125rem] text-warn-ink" role="status">
            {t("missing", { count: missing })}
          </p>
        )}
        <Button onClick={onBack}>{t("back")}</Button>
        <Button
          variant="primary"
          disabled={missing > 0 || apply.isPending}
          onClick={() => apply.mutate({ seen, confirmed, idempotencyKey }, { onSuccess: ({ id }) => done(id) })}
        >
          {apply.isPending ? t("applying") : t("apply", { count: seen.preview.changes.length })}
        </Button>
      </div>
    </div>
  );
}

export function ImportPage({ timeZone }: { readonly timeZone: string }): ReactElement {
  const t = useTranslations("imports");
  const errorText = useErrorText();
  const preview = usePreview();
  const [draft, setDraft] = useState<ImportDraft>({ format: "price_map", text: "", source: "" });
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [seen, setSeen] = useState<Preview | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [errors]);
  const fields = preview.error instanceof ConsoleRequestError ? preview.error.fields : {};
  const problems = problemsOf(fields);

  function look(): void {
    const missing = (["text", "source"] as const).filter((name) => draft[name].trim() === "");
    setErrors(Object.fromEntries(missing.map((name) => [name, "required"])));
    if (missing.length > 0 || preview.isPending) return;
    preview.mutate({ ...draft, source: draft.source.trim() }, { onSuccess: setSeen });
  }

  return (
    <>
      <BackLink href="/prices" text={t("toPrices")} />
      <PageHeader title={t("title")} lead={t("lead")} />
      <ol className="mb-4 flex flex-wrap gap-x-6 gap-y-1 text-[0.8125rem]">
        <Step number={1} text={t("stepSource")} isCurrent={seen === null} />
        <Step number={2} text={t("stepReview")} isCurrent={seen !== null} />
      </ol>
      {seen !== null ? (
        <Review key={seen.preview.digest} seen={seen} timeZone={timeZone} onBack={() => setSeen(null)} onAgain={look} />
      ) : (
        <Card className="p-4 sm:p-5">
          <form
            ref={form}
            noValidate
            className="grid gap-5"
            onSubmit={(event) => {
              event.preventDefault();
              look();
            }}
          >
            <ImportSource
              draft={draft}
              errors={errors}
              onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
            />
            {problems.length > 0 ? (
              <ImportProblemList problems={problems} />
            ) : preview.error === null ? null : (
              <Notice tone="danger" role="alert" icon={<TriangleAlert aria-hidden className="text-danger" />}>
                {errorText(preview.error)}
              </Notice>
            )}
            <div className="flex justify-end">
              <Button type="submit" variant="primary" disabled={preview.isPending}>
                {preview.isPending ? t("checking") : t("check")}
              </Button>
            </div>
          </form>
        </Card>
      )}
    </>
  );
}
