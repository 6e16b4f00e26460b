import type { ReactElement, ReactNode } from "react";
import { cn } from "./cn";

const tones = {
  info: "border-line bg-brand-soft text-ink",
  warn: "border-rung-warn/50 bg-warn-soft text-ink",
  danger: "border-danger/40 bg-danger-soft text-ink",
} as const;

interface NoticeProps {
  readonly tone?: keyof typeof tones;
  readonly icon?: ReactNode;
  readonly action?: ReactNode;
  readonly role?: "status" | "alert";
  readonly className?: string;
  readonly children: ReactNode;
}

/** A sentence that stands out from the page: state of the data, or a warning before an act. */
export function Notice({ tone = "info", icon, action, role, className, children }: NoticeProps): ReactElement {
  return (
    <div
      role={role}
      className={cn(
        "flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border px-3.5 py-2.5 text-sm [&_svg]:size-4 [&_svg]:shrink-0",
        tones[tone],
        className,
      )}
    >
      {icon}
      <div className="min-w-0 flex-1 basis-56">{children}</div>
      {action}
    </div>
  );
}

export interface EmptyStateProps {
  readonly title: string;
  readonly body?: ReactNode;
  readonly action?: ReactNode;
  /** Where nothing else names the page. */
  readonly isPage?: boolean;
}

/** Says what would be here and why it is not. Three falling lines: the spillway at rest. */
export function EmptyState({ title, body, action, isPage = false }: EmptyStateProps): ReactElement {
  const Title = isPage ? "h1" : "p";
  return (
    <div className="grid justify-items-center gap-2 px-6 py-10 text-center">
      <svg aria-hidden viewBox="0 0 48 24" className="h-8 w-16 text-line-strong" fill="none" stroke="currentColor">
        <path d="M2 5h15c9 0 9 7 18 7h11" strokeWidth="1.5" strokeLinecap="round" />
        <path d="M2 12h11c9 0 9 7 18 7h15" strokeWidth="1.5" strokeLinecap="round" opacity=".45" />
      </svg>
      <Title className={isPage ? "text-lg font-semibold" : "font-medium"}>{title}</Title>
      {body === undefined ? null : <div className="max-w-md text-[0.8125rem] text-soft">{body}</div>}
      {action === undefined ? null : <div className="mt-2">{action}</div>}
    </div>
  );
}
