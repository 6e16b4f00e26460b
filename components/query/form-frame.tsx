"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useId, useRef, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { DialogFrame } from "@/components/ui/dialog";
import type { DialogShape } from "@/components/ui/dialog";
import { Notice } from "@/components/ui/notice";
import { useErrorText } from "./use-error-text";

/** How a form's write stands; `useFormSave` has it ready. */
export interface FormState {
  readonly isPending: boolean;
  /** Why the last try failed; null: it did not. */
  readonly error: Error | null;
  /** Changes with every refused try, so that the first field at fault is focused each time. */
  readonly errors?: Readonly<Record<string, string>>;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

interface FrameProps extends FormState {
  readonly shape: DialogShape;
  readonly title: string;
  readonly description?: ReactNode;
  readonly submitLabel: string;
  /** While the write is on its way; "Saving" where it is left out. */
  readonly pendingLabel?: string;
  readonly isDanger?: boolean;
  /** False while something that the act asks for is missing, such as a typed name. */
  readonly canSubmit?: boolean;
  /** In place of the ordinary sentence for `error`. */
  readonly said?: ReactNode;
  readonly className?: string;
  readonly children?: ReactNode;
}

const NO_ERRORS = {};

/** Asked when a stray key or click would close a form in which something was typed. */
function Leaving({ onStay, onLeave }: { readonly onStay: () => void; readonly onLeave: () => void }): ReactElement {
  const c = useTranslations("common");
  const stay = useRef<HTMLButtonElement>(null);
  useEffect(() => stay.current?.focus(), []);
  return (
    <>
      <p role="alert" className="mr-auto text-[0.8125rem] font-medium">
        {c("unsaved")}
      </p>
      <Button variant="dangerGhost" onClick={onLeave}>
        {c("discard")}
      </Button>
      <Button ref={stay} variant="primary" onClick={onStay}>
        {c("keepEditing")}
      </Button>
    </>
  );
}

/**
 * A form over the page: what failed stands on top, the first field at fault takes the focus, nothing typed is lost by
 * a failed write or a slip beside the panel.
 */
export function FormFrame(props: FrameProps): ReactElement {
  const { shape, title, description, className, submitLabel, isDanger = false, canSubmit = true, children } = props;
  const { isPending, error, errors = NO_ERRORS, said, onSubmit, onClose } = props;
  const c = useTranslations("common");
  const errorText = useErrorText();
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [isTouched, setTouched] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  return (
    <DialogFrame
      shape={shape}
      title={title}
      description={description}
      {...(className === undefined ? {} : { className })}
      onClose={() => (isTouched && !isLeaving ? setLeaving(true) : onClose())}
      footer={
        isLeaving ? (
          <Leaving onStay={() => setLeaving(false)} onLeave={onClose} />
        ) : (
          <>
            <Button onClick={onClose}>{c("cancel")}</Button>
            <Button
              type="submit"
              form={id}
              variant={isDanger ? "danger" : "primary"}
              disabled={!canSubmit || isPending}
            >
              {isPending ? (props.pendingLabel ?? c("saving")) : submitLabel}
            </Button>
          </>
        )
      }
    >
      <form
        ref={form}
        id={id}
        noValidate
        className="grid gap-5"
        onChange={() => setTouched(true)}
        onSubmit={(event) => {
          event.preventDefault();
          if (canSubmit && !isPending) onSubmit();
        }}
      >
        {error === null ? null : (
          <Notice tone="danger" role="alert" icon={<TriangleAlert aria-hidden className="text-danger" />}>
            {said ?? errorText(error)}
          </Notice>
        )}
        {children}
      </form>
    </DialogFrame>
  );
}
