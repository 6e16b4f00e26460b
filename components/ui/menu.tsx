"use client";
import { Check } from "lucide-react";
import { DropdownMenu as Radix } from "radix-ui";
import type { ComponentProps, ReactElement } from "react";
import { cn } from "./cn";

export const Menu = Radix.Root;
export const MenuTrigger = Radix.Trigger;
export const MenuRadioGroup = Radix.RadioGroup;

const itemClass =
  "relative flex min-h-8 items-center gap-2 rounded-sm px-2 py-1.5 text-sm outline-none select-none max-md:min-h-11 data-[disabled]:pointer-events-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunken [&_svg]:size-4 [&_svg]:text-soft";

export function MenuContent({ className, ...props }: ComponentProps<typeof Radix.Content>): ReactElement {
  return (
    <Radix.Portal>
      <Radix.Content
        sideOffset={6}
        align="end"
        collisionPadding={8}
        className={cn(
          "z-50 min-w-44 rounded-lg border bg-surface p-1 text-ink shadow-float data-[state=open]:animate-in data-[state=open]:fade-in-0",
          className,
        )}
        {...props}
      />
    </Radix.Portal>
  );
}

export function MenuItem({
  className,
  danger = false,
  ...props
}: ComponentProps<typeof Radix.Item> & { danger?: boolean }): ReactElement {
  return <Radix.Item className={cn(itemClass, danger && "text-danger [&_svg]:text-danger", className)} {...props} />;
}

export function MenuLabel({ className, ...props }: ComponentProps<typeof Radix.Label>): ReactElement {
  return <Radix.Label className={cn("px-2 pt-1.5 pb-1 text-xs text-soft", className)} {...props} />;
}

export function MenuSeparator(): ReactElement {
  return <Radix.Separator className="-mx-1 my-1 h-px bg-line" />;
}

export function MenuRadioItem({ className, children, ...props }: ComponentProps<typeof Radix.RadioItem>): ReactElement {
  return (
    <Radix.RadioItem className={cn(itemClass, "pr-8", className)} {...props}>
      {children}
      <Radix.ItemIndicator className="absolute right-2">
        <Check aria-hidden />
      </Radix.ItemIndicator>
    </Radix.RadioItem>
  );
}
