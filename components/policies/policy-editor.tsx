"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { LaddersSection } from "@/components/ladders/ladders-section";
import { ConsoleRequestError } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { fieldErrorsOf, useErrorText, useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { Choice, Field, Input, Textarea } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { PolicyList, PolicyView } from "@/lib/contracts/policies";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { PolicyDocument } from "@/lib/domain/policy";
import { PolicyChanges } from "./policy-changes";
import { toDocument } from "./policy-document";
import type { CheckedPolicy } from "./policy-document";
import { draftOf } from "./policy-draft";
import { PolicyForm } from "./policy-form";
import { activeVersionOf } from "./use-policies";

interface EditorProps {
  readonly list: PolicyList;
  readonly policy: PolicyView;
  /** The document that is edited at first: the one in force, or an older version. */
  readonly base: PolicyDocument;
}

/** The document's text, checked like the form: where it is broken, the place is named. */
function fromText(text: string): CheckedPolicy {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, errors: { document: "json_malformed" } };
  }
  const parsed = policyDocumentSchema.safeParse(value);
  if (parsed.success) return { ok: true, document: parsed.data };
  const [issue] = parsed.error.issues;
  return { ok: false, errors: { document: `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? ""}` } };
}

/** The whole document as text: what the form has no field for is changed here. */
function DocumentText({
  text,
  error,
  onChange,
}: {
  readonly text: string;
  readonly error: string | undefined;
  readonly onChange: (text: string) => void;
}): ReactElement {
  const t = useTranslations("policies");
  const fieldText = useFieldText();
  // A place and its fault in English, or a code.
  const said = error?.includes(":") === true ? error : fieldText(error);
  return (
    <div className="px-4 py-4 sm:px-5">
      <Field label={t("asText")} hint={t("asTextHint")} error={said}>
        {(attributes) => (
          <Textarea
            {...attributes}
            rows={24}
            spellCheck={false}
            className="font-mono text-[0.8125rem] leading-relaxed"
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
    </div>
  );
}

interface PublishOptions {
  readonly note: string;
  readonly isConfirmed: boolean;
  /** false: stored for a rollout. */
  readonly activate: boolean;
}

function usePublish(policy: PolicyView): {
  readonly publish: (document: PolicyDocument, options: PublishOptions) => Promise<void>;
  readonly isPending: boolean;
  readonly error: Error | null;
} {
  const t = useTranslations("policies");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const write = useConsoleWrite(queryKeys.policies);
  const back = useConsoleWrite(queryKeys.policies);
  const { id, activeVersionId } = policy;
  // By their promises: a new version in force opens the editor anew, and this one is gone.
  const undo = async (policyVersionId: string): Promise<void> => {
    try {
      await back.mutateAsync({
        path: `/api/console/policies/${id}/activate`,
        method: "POST",
        body: { policyVersionId },
      });
      toast.success(c("undone"));
    } catch (error) {
      toast.error(errorText(error), { duration: Infinity, closeButton: true });
    }
  };
  return {
    publish: async (document, { note, isConfirmed, activate }) => {
      const said = note.trim() === "" ? null : note.trim();
      const body = { document, note: said, activate, confirmSuspicious: isConfirmed };
      try {
        await write.mutateAsync({ path: `/api/console/policies/${id}/versions`, method: "POST", body });
      } catch {
        // Told beside the button.
        return;
      }
      toast.success(t(activate ? "published" : "stored"), {
        duration: 10_000,
        ...(activeVersionId === null || !activate
          ? {}
          : { action: { label: c("undo"), onClick: () => void undo(activeVersionId) } }),
      });
    },
    isPending: write.isPending,
    error: write.error,
  };
}

/** For whom the new version holds from now on: everybody, or nobody until its rollout is started. */
function Force({
  isStored,
  isOpen,
  onChange,
}: {
  readonly isStored: boolean;
  /** A rollout is open: nothing else can be put in force. */
  readonly isOpen: boolean;
  readonly onChange: (wantsRollout: boolean) => void;
}): ReactElement {
  const t = useTranslations("policies");
  return (
    <fieldset>
      <legend className="mb-1 text-[0.8125rem] font-medium">{t("force")}</legend>
      <Choice
        type="radio"
        name="force"
        label={t("forceNow")}
        {...(isOpen ? { hint: t("forceBlocked") } : {})}
        disabled={isOpen}
        checked={!isStored}
        onChange={() => onChange(false)}
      />
      <Choice type="radio" name="force" label={t("forceRollout")} checked={isStored} onChange={() => onChange(true)} />
    </fieldset>
  );
}

export function PolicyEditor({ list, policy, base }: EditorProps): ReactElement {
  const t = useTranslations("policies");
  const errorText = useErrorText();
  const { publish, isPending, error } = usePublish(policy);
  const [draft, setDraft] = useState(() => draftOf(base));
  const [kept, setKept] = useState(base);
  const [text, setText] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [isConfirmed, setConfirmed] = useState(false);
  const [wantsRollout, setWantsRollout] = useState(false);
  const isStored = wantsRollout || policy.rollout !== null;
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [errors]);
  const checked = text === null ? toDocument(draft, kept) : fromText(text);
  const inForce = activeVersionOf(policy)?.document ?? {};
  const isConflict = error instanceof ConsoleRequestError && error.code === "conflict";
  const asksToConfirm = "confirmSuspicious" in fieldErrorsOf(error);

  /** From the fields to the text and back; broken ones are mended where they stand. */
  function turn(): void {
    setErrors(checked.ok ? {} : checked.errors);
    if (!checked.ok) return;
    if (text === null) {
      setText(JSON.stringify(checked.document, null, 2));
      return;
    }
    setKept(checked.document);
    setDraft(draftOf(checked.document));
    setText(null);
  }

  function submit(): void {
    setErrors(checked.ok ? {} : checked.errors);
    if (checked.ok && !isPending) void publish(checked.document, { note, isConfirmed, activate: !isStored });
  }

  return (
    <form
      ref={form}
      noValidate
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Card>
        <CardHeader
          title={t("settingsTitle")}
          note={t("settingsNote")}
          action={
            <Button size="sm" onClick={turn}>
              {t(text === null ? "toText" : "toForm")}
            </Button>
          }
        />
        {text === null ? (
          <>
            <LaddersSection
              ladders={draft.ladders}
              downgrade={draft.downgrade}
              ladderUse={list.ladderUse}
              models={list.models}
              document={checked.ok ? checked.document : null}
              errors={checked.ok ? {} : checked.errors}
              onChange={(update) => setDraft((before) => ({ ...before, ...update(before) }))}
            />
            <PolicyForm
              canPrice={list.canPrice}
              currency={list.organisation.currency}
              draft={draft}
              errors={errors}
              onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
            />
          </>
        ) : (
          <DocumentText text={text} error={errors["document"]} onChange={setText} />
        )}
      </Card>
      <Card>
        <CardHeader title={t("changesTitle")} note={t("changesNote")} />
        <div className="grid gap-4 px-4 pb-4 sm:px-5" aria-live="polite">
          {checked.ok ? (
            <PolicyChanges before={inForce} after={checked.document} />
          ) : (
            <p className="text-[0.8125rem] text-danger">{t("brokenDraft")}</p>
          )}
          <Field label={t("note")} hint={t("noteHint")}>
            {(attributes) => (
              <Input {...attributes} value={note} maxLength={500} onChange={(event) => setNote(event.target.value)} />
            )}
          </Field>
          <Force isStored={isStored} isOpen={policy.rollout !== null} onChange={setWantsRollout} />
          {asksToConfirm || isConfirmed ? (
            <Notice tone="warn" role="alert">
              <Choice
                type="checkbox"
                label={t("confirmPrice")}
                checked={isConfirmed}
                onChange={(event) => setConfirmed(event.target.checked)}
              />
            </Notice>
          ) : null}
          {error === null ? null : (
            <Notice tone="danger" role="alert" icon={<TriangleAlert aria-hidden className="text-danger" />}>
              {isConflict ? t("rolloutOpen") : errorText(error)}
            </Notice>
          )}
          <div className="flex justify-end">
            <Button type="submit" variant="primary" disabled={isPending}>
              {isPending
                ? t("publishing")
                : t(isStored ? "storeAs" : "publish", { number: (policy.versions[0]?.number ?? 0) + 1 })}
            </Button>
          </div>
        </div>
      </Card>
    </form>
  );
}
