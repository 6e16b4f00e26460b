"use client";
import { Info } from "lucide-react";
import { useTranslations } from "next-intl";
import { Popover as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { Button } from "./button";

interface WhatIsThisProps {
  /** The figure's name. */
  readonly name: string;
  readonly children: ReactNode;
}

/** One click away from a figure: what is in it, of when, and in which currency and zone. */
export function WhatIsThis({ name, children }: WhatIsThisProps): ReactElement {
  const c = useTranslations("common");
  return (
    <Radix.Root>
      <Radix.Trigger asChild>
        <Button
          variant="ghost"
          size="iconSm"
          className="-my-1.5 size-6 text-soft max-md:-my-3"
          aria-label={c("whatIsIn", { name })}
        >
          <Info aria-hidden />
        </Button>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={12}
          aria-label={name}
          className="z-40 w-72 rounded-lg border bg-surface px-3.5 py-3 text-[0.8125rem] text-ink shadow-float outline-none data-[state=open]:animate-in data-[state=open]:fade-in-0"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
