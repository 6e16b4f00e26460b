"use client";
import { useId } from "react";
import type { ComponentProps, ReactElement, ReactNode } from "react";
import { cn } from "./cn";

const control =
  "h-9 w-full rounded-md border border-line-strong/60 bg-surface px-3 text-sm text-ink shadow-card placeholder:text-soft/80 hover:border-line-strong disabled:opacity-55 aria-invalid:border-danger max-md:h-11 max-md:text-base";

export function Input({ className, ...props }: ComponentProps<"input">): ReactElement {
  return <input className={cn(control, className)} {...props} />;
}

export function Select({ className, ...props }: ComponentProps<"select">): ReactElement {
  return <select className={cn(control, "pr-8", className)} {...props} />;
}

export function Textarea({ className, ...props }: ComponentProps<"textarea">): ReactElement {
  return <textarea className={cn(control, "h-auto min-h-18 py-2 max-md:h-auto", className)} {...props} />;
}

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly className?: string;
  /** Gets the ids that tie the control to its label, hint and error. */
  readonly children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

/** A labelled control. Hint and error are tied to it by `aria-describedby`. */
export function Field({ label, hint, error, className, children }: FieldProps): ReactElement {
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`]
    .filter((part) => part !== "")
    .join(" ");
  return (
    <div className={cn("grid gap-1.5", className)}>
      <label htmlFor={id} className="text-[0.8125rem] font-medium">
        {label}
      </label>
      {children({
        id,
        ...(described === "" ? {} : { "aria-describedby": described }),
        ...(error === undefined ? {} : { "aria-invalid": true as const }),
      })}
      {error === undefined ? null : (
        <p id={`${id}-error`} className="text-[0.8125rem] font-medium text-danger">
          {error}
        </p>
      )}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="text-xs text-soft">
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps extends ComponentProps<"input"> {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

/** A checkbox or radio with its sentence beside it. */
export function Choice({ label, hint, className, ...props }: ChoiceProps): ReactElement {
  const id = useId();
  return (
    <div className={cn("flex items-start gap-2.5 py-1 max-md:py-2", className)}>
      <input
        id={id}
        className="mt-0.5 size-4 shrink-0 accent-brand max-md:size-5"
        {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
        {...props}
      />
      <div className="min-w-0">
        <label htmlFor={id} className="text-sm">
          {label}
        </label>
        {hint === undefined ? null : (
          <p id={`${id}-hint`} className="text-xs text-soft">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
