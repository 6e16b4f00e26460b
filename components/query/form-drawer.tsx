"use client";
import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useId, useRef } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogClose, DrawerContent } from "@/components/ui/dialog";
import { Notice } from "@/components/ui/notice";
import { useErrorText } from "./use-error-text";

interface FormDrawerProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly submitLabel: string;
  readonly isPending: boolean;
  /** Why the last try failed; null: it did not. */
  readonly error: Error | null;
  /** Changes with every refused try, so that the first field at fault is focused each time. */
  readonly errors: Readonly<Record<string, string>>;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A form beside the page: what failed stands on top, the first field at fault takes the focus, nothing typed is lost. */
export function FormDrawer(props: FormDrawerProps): ReactElement {
  const { title, description, submitLabel, isPending, error, errors, onSubmit, onClose, children } = props;
  const c = useTranslations("common");
  const errorText = useErrorText();
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  return (
    <Dialog open onOpenChange={(open) => (open ? undefined : onClose())}>
      <DrawerContent
        title={title}
        description={description}
        footer={
          <>
            <DialogClose asChild>
              <Button>{c("cancel")}</Button>
            </DialogClose>
            <Button type="submit" form={id} variant="primary" disabled={isPending}>
              {isPending ? c("saving") : submitLabel}
            </Button>
          </>
        }
      >
        <form
          ref={form}
          id={id}
          noValidate
          className="grid gap-5"
          onSubmit={(event) => {
            event.preventDefault();
            if (!isPending) onSubmit();
          }}
        >
          {error === null ? null : (
            <Notice tone="danger" role="alert" icon={<TriangleAlert aria-hidden className="text-danger" />}>
              {errorText(error)}
            </Notice>
          )}
          {children}
        </form>
      </DrawerContent>
    </Dialog>
  );
}
