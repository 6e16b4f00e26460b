"use client";
/** A form that is one write: its draft, what is wrong with it, and the way to the server. */
import type { QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";
import type { Checked, FieldErrors } from "@/components/format/checked";
import type { FormState } from "./form-frame";
import { useConsoleWrite } from "./use-console-write";
import type { ConsoleWrite } from "./use-console-write";
import { fieldErrorsOf } from "./use-error-text";

interface FormSaveOptions<Draft, Input> {
  readonly initial: Draft | (() => Draft);
  readonly path: string;
  /** POST where it is left out. */
  readonly method?: ConsoleWrite["method"];
  /** What is read again afterwards. */
  readonly stale: readonly QueryKey[];
  readonly check: (draft: Draft) => Checked<Input>;
  /** What the toast says. */
  readonly saved: (input: Input) => string;
  readonly onClose: () => void;
  /** Puts the server's field names to the form's, where they differ. */
  readonly toFields?: (errors: FieldErrors) => FieldErrors;
}

interface FormSave<Draft> {
  readonly draft: Draft;
  readonly errors: FieldErrors;
  readonly change: (change: Partial<Draft>) => void;
  /** For `FormFrame`. */
  readonly state: FormState;
}

/** Checks the draft as the server will, writes it, says so and closes; a refused write leaves the form as it stands. */
export function useFormSave<Draft extends object, Input>(options: FormSaveOptions<Draft, Input>): FormSave<Draft> {
  const { path, method = "POST", check, saved, onClose, toFields = (errors) => errors } = options;
  const write = useConsoleWrite(...options.stale);
  const [draft, setDraft] = useState(options.initial);
  const [errors, setErrors] = useState<FieldErrors>({});

  function submit(): void {
    const checked = check(draft);
    setErrors(checked.ok ? {} : checked.errors);
    if (!checked.ok) return;
    write.mutate(
      { path, method, body: checked.input },
      {
        onSuccess: () => {
          toast.success(saved(checked.input));
          onClose();
        },
        onError: (error) => setErrors(toFields(fieldErrorsOf(error))),
      },
    );
  }

  return {
    draft,
    errors,
    change: (change) => setDraft((before) => ({ ...before, ...change })),
    state: { isPending: write.isPending, error: write.error, errors, onSubmit: submit, onClose },
  };
}
