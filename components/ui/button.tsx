import { cva } from "class-variance-authority";
import type { VariantProps } from "class-variance-authority";
import { Slot } from "radix-ui";
import type { ComponentProps, ReactElement } from "react";
import { cn } from "./cn";

const buttonVariants = cva(
  "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors select-none disabled:cursor-not-allowed disabled:opacity-55 aria-disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0",
  {
    variants: {
      variant: {
        primary: "bg-brand text-on-brand hover:bg-brand-strong",
        secondary: "border border-line bg-surface text-ink shadow-card hover:bg-sunken",
        ghost: "text-ink hover:bg-sunken",
        danger: "bg-danger text-white hover:opacity-90 dark:text-on-brand",
        dangerGhost: "text-danger hover:bg-danger-soft",
        link: "h-auto px-0 text-brand underline-offset-4 hover:underline",
      },
      size: {
        md: "h-9 px-3.5 text-sm max-md:h-11",
        sm: "h-8 px-2.5 text-[0.8125rem] max-md:h-10",
        icon: "size-9 max-md:size-11",
        iconSm: "size-7 max-md:size-10",
      },
    },
    // A link in text takes no box of its own; on a phone it is still tall enough for a thumb.
    compoundVariants: [{ variant: "link", className: "h-auto min-h-6 px-0 max-md:h-10" }],
    defaultVariants: { variant: "secondary", size: "md" },
  },
);

export function Button({
  className,
  variant,
  size,
  asChild = false,
  type,
  ...props
}: ComponentProps<"button"> & VariantProps<typeof buttonVariants> & { asChild?: boolean }): ReactElement {
  const Component = asChild ? Slot.Root : "button";
  return (
    <Component
      {...(asChild ? {} : { type: type ?? "button" })}
      className={cn(buttonVariants({ variant, size }), className)}
      {...props}
    />
  );
}
