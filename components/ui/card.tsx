import type { ComponentProps, ReactElement, ReactNode } from "react";
import { cn } from "./cn";

export function Card({ className, ...props }: ComponentProps<"section">): ReactElement {
  return <section className={cn("min-w-0 rounded-xl border bg-surface shadow-card", className)} {...props} />;
}

interface CardHeaderProps {
  readonly id?: string;
  readonly title: ReactNode;
  readonly note?: ReactNode;
  readonly action?: ReactNode;
}

export function CardHeader({ id, title, note, action }: CardHeaderProps): ReactElement {
  return (
    <header className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 pt-3.5 pb-2 sm:px-5">
      <h2 id={id} className="text-[0.9375rem] font-semibold tracking-tight">
        {title}
      </h2>
      {note === undefined ? null : <p className="min-w-0 text-xs text-soft">{note}</p>}
      {action === undefined ? null : <div className="ml-auto">{action}</div>}
    </header>
  );
}
