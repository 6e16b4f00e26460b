"use client";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import { Dialog as Radix } from "radix-ui";
import type { ComponentProps, ReactElement, ReactNode } from "react";
import { Button } from "./button";
import { cn } from "./cn";

export const Dialog = Radix.Root;
export const DialogTrigger = Radix.Trigger;
export const DialogClose = Radix.Close;

function Overlay(): ReactElement {
  return (
    <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.03_245/0.55)] data-[state=closed]:animate-out data-[state=closed]:fade-out-0 data-[state=open]:animate-in data-[state=open]:fade-in-0" />
  );
}

function CloseButton(): ReactElement {
  const t = useTranslations("common");
  return (
    <Radix.Close asChild>
      <Button variant="ghost" size="icon" className="absolute top-2.5 right-3" aria-label={t("close")}>
        <X aria-hidden />
      </Button>
    </Radix.Close>
  );
}

interface ContentProps extends Omit<ComponentProps<typeof Radix.Content>, "title"> {
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly footer?: ReactNode;
  /** A dialog that must not be lost by a stray click hides the cross. */
  readonly hideClose?: boolean;
}

function Frame({ title, description, footer, hideClose = false, children }: ContentProps): ReactElement {
  return (
    <>
      <header className={cn("flex items-start gap-3 border-b px-5 pt-4 pb-3", hideClose ? "" : "pr-14")}>
        <div className="min-w-0 flex-1">
          <Radix.Title className="text-base font-semibold tracking-tight">{title}</Radix.Title>
          {description === undefined ? null : (
            <Radix.Description asChild>
              <div className="mt-0.5 text-[0.8125rem] text-soft">{description}</div>
            </Radix.Description>
          )}
        </div>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
      {footer === undefined ? null : (
        <footer className="flex flex-wrap items-center justify-end gap-2 border-t bg-sunken/50 px-5 py-3">
          {footer}
        </footer>
      )}
      {/* Last in order: focus starts in the content, not on the way out. */}
      {hideClose ? null : <CloseButton />}
    </>
  );
}

/** A centred question or form; on a phone it rises from the lower edge. */
export function DialogContent({ className, ...props }: ContentProps): ReactElement {
  const { title: _title, description, footer: _footer, hideClose: _hideClose, children, ...rest } = props;
  return (
    <Radix.Portal>
      <Overlay />
      <Radix.Content
        {...(description === undefined ? { "aria-describedby": undefined } : {})}
        className={cn(
          "fixed z-50 flex max-h-[90dvh] w-full flex-col overflow-hidden border bg-surface text-ink shadow-float",
          "max-md:inset-x-0 max-md:bottom-0 max-md:rounded-t-xl md:top-1/2 md:left-1/2 md:max-w-md md:-translate-x-1/2 md:-translate-y-1/2 md:rounded-xl",
          "data-[state=open]:animate-in data-[state=open]:fade-in-0 max-md:data-[state=open]:slide-in-from-bottom-8",
          className,
        )}
        {...rest}
      >
        <Frame {...props}>{children}</Frame>
      </Radix.Content>
    </Radix.Portal>
  );
}

/** A panel from the right for editing beside the page; full width on a phone. */
export function DrawerContent({ className, ...props }: ContentProps): ReactElement {
  const { title: _title, description, footer: _footer, hideClose: _hideClose, children, ...rest } = props;
  return (
    <Radix.Portal>
      <Overlay />
      <Radix.Content
        {...(description === undefined ? { "aria-describedby": undefined } : {})}
        className={cn(
          "fixed inset-y-0 right-0 z-50 flex w-full flex-col border-l bg-surface text-ink shadow-float md:max-w-[34rem]",
          "data-[state=closed]:animate-out data-[state=closed]:slide-out-to-right-full data-[state=open]:animate-in data-[state=open]:slide-in-from-right-full data-[state=open]:duration-200",
          className,
        )}
        {...rest}
      >
        <Frame {...props}>{children}</Frame>
      </Radix.Content>
    </Radix.Portal>
  );
}
