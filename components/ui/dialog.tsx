"use client";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { Dialog as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { Button } from "./button";
import { cn } from "./cn";

const shapes = {
  /** A centred question or form; on a phone it rises from the lower edge. */
  dialog: cn(
    "max-h-[90dvh] border max-md:inset-x-0 max-md:bottom-0 max-md:rounded-t-xl",
    "md:top-1/2 md:left-1/2 md:max-w-md md:-translate-x-1/2 md:-translate-y-1/2 md:rounded-xl",
    "data-[state=open]:animate-in data-[state=open]:fade-in-0 max-md:data-[state=open]:slide-in-from-bottom-8",
  ),
  /** A panel from the right for editing beside the page; full width on a phone. */
  drawer: cn(
    "inset-y-0 right-0 border-l md:max-w-[34rem]",
    "data-[state=closed]:animate-out data-[state=closed]:slide-out-to-right-full",
    "data-[state=open]:animate-in data-[state=open]:duration-200 data-[state=open]:slide-in-from-right-full",
  ),
} as const;

export type DialogShape = keyof typeof shapes;

interface FrameProps {
  readonly shape: DialogShape;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly footer?: ReactNode;
  /** Null: it must not be lost by a stray key or click, and only a button of its own closes it. */
  readonly onClose: (() => void) | null;
  readonly className?: string;
  readonly children: ReactNode;
}

function Header({ title, description, onClose }: Pick<FrameProps, "title" | "description" | "onClose">): ReactElement {
  return (
    <header className={cn("border-b px-5 pt-4 pb-3", onClose === null ? "" : "pr-14")}>
      <Radix.Title className="text-base font-semibold tracking-tight">{title}</Radix.Title>
      {description === undefined ? null : (
        <Radix.Description asChild>
          <div className="mt-0.5 text-[0.8125rem] text-soft">{description}</div>
        </Radix.Description>
      )}
    </header>
  );
}

function CloseButton(): ReactElement {
  const c = useTranslations("common");
  return (
    <Radix.Close asChild>
      <Button variant="ghost" size="icon" className="absolute top-2.5 right-3" aria-label={c("close")}>
        <X aria-hidden />
      </Button>
    </Radix.Close>
  );
}

/** The one frame of everything that opens over a page. It is open as long as it is rendered. */
export function DialogFrame({
  shape,
  title,
  description,
  footer,
  onClose,
  className,
  children,
}: FrameProps): ReactElement {
  const stay = (event: Event): void => {
    if (onClose === null) event.preventDefault();
  };
  return (
    <Radix.Root open onOpenChange={(open) => (open ? undefined : onClose?.())}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.03_245/0.55)] data-[state=closed]:animate-out data-[state=closed]:fade-out-0 data-[state=open]:animate-in data-[state=open]:fade-in-0" />
        <Radix.Content
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          onEscapeKeyDown={stay}
          onInteractOutside={stay}
          className={cn(
            "fixed z-50 flex w-full flex-col overflow-hidden bg-surface text-ink shadow-float",
            shapes[shape],
            className,
          )}
        >
          <Header title={title} description={description} onClose={onClose} />
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
          {footer === undefined ? null : (
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t bg-sunken/50 px-5 py-3 pb-[max(0.75rem,env(safe-area-inset-bottom))]">
              {footer}
            </footer>
          )}
          {/* Last in order: focus starts in the content, not on the way out. */}
          {onClose === null ? null : <CloseButton />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
