import type { ReactElement } from "react";
import { cn } from "@/components/ui/cn";

/** The mark: a level sheet of water, the crest, and three steps of fall. */
export function Mark({ className }: { readonly className?: string }): ReactElement {
  return (
    <svg aria-hidden viewBox="0 0 32 32" className={cn("size-8", className)}>
      <rect width="32" height="32" rx="7.5" fill="var(--mark-ground, var(--brand-strong))" />
      <g fill="none" stroke="var(--mark-water, var(--on-brand))" strokeLinecap="round" strokeWidth="2.6">
        <path d="M5.5 9h6.2c6.8 0 6.4 9.2 14.8 9.2" />
        <path d="M5.5 15h3.6c6.3 0 6.4 8.6 14.2 8.6" opacity=".62" />
        <path d="M5.5 21h1.6c4 0 4.6 4.6 9.4 5.2" opacity=".34" />
      </g>
    </svg>
  );
}
