import type { ComponentProps, ReactElement } from "react";
import { cn } from "./cn";

const tones = {
  neutral: "bg-sunken text-soft",
  brand: "bg-brand-soft text-brand-strong",
  good: "bg-[color-mix(in_oklab,var(--good)_14%,transparent)] text-good",
  warn: "bg-warn-soft text-warn-ink",
  danger: "bg-danger-soft text-danger",
} as const;
export type Tone = keyof typeof tones;

export function Badge({
  tone = "neutral",
  className,
  ...props
}: ComponentProps<"span"> & { tone?: Tone }): ReactElement {
  return (
    <span
      className={cn(
        "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap",
        tones[tone],
        className,
      )}
      {...props}
    />
  );
}
