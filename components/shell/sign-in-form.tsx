"use client";
import { signIn } from "next-auth/react";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ReactElement, SyntheticEvent } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Field, Input } from "@/components/ui/field";
import { signInInput } from "@/lib/contracts/session";

type Problem = "wrong" | "unavailable" | null;

interface SignInFormProps {
  /** A path of this site to go to afterwards; already checked by the page. */
  readonly next: string;
  /** Whether this installation started with a sample company. */
  readonly isSample: boolean;
}

export function SignInForm({ next, isSample }: SignInFormProps): ReactElement {
  const t = useTranslations("signIn");
  const fieldText = useFieldText();
  const [problem, setProblem] = useState<Problem>(null);
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const summary = useRef<HTMLParagraphElement>(null);

  async function submit(event: SyntheticEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const parsed = signInInput.safeParse(Object.fromEntries(new FormData(event.currentTarget)));
    if (!parsed.success) {
      setFields(Object.fromEntries(parsed.error.issues.map((issue) => [issue.path.join("."), issue.message])));
      return;
    }
    setFields({});
    setBusy(true);
    const answer = await signIn("credentials", { ...parsed.data, redirect: false }).catch(() => undefined);
    if (answer?.ok === true) {
      // A full load: the new session must reach every server part of the page.
      window.location.assign(next);
      return;
    }
    setBusy(false);
    setProblem(answer === undefined || answer.status >= 500 ? "unavailable" : "wrong");
    summary.current?.focus();
  }

  return (
    <form noValidate className="grid gap-4" onSubmit={(event) => void submit(event)}>
      <p
        ref={summary}
        role="alert"
        tabIndex={-1}
        className={problem === null ? "sr-only" : "rounded-md border border-danger/40 bg-danger-soft px-3 py-2 text-sm"}
      >
        {problem === null ? "" : t(problem)}
      </p>
      <Field label={t("email")} error={fieldText(fields["email"])}>
        {(attributes) => (
          <Input {...attributes} name="email" type="email" autoComplete="username" inputMode="email" required />
        )}
      </Field>
      <Field label={t("password")} error={fieldText(fields["password"])}>
        {(attributes) => (
          <Input {...attributes} name="password" type="password" autoComplete="current-password" required />
        )}
      </Field>
      <Button type="submit" variant="primary" disabled={busy} className="mt-1 h-10">
        {busy ? t("busy") : t("submit")}
      </Button>
      {isSample ? <p className="text-xs text-soft">{t("sampleHint")}</p> : null}
    </form>
  );
}
