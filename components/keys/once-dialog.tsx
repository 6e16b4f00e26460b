"use client";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { DialogFrame } from "@/components/ui/dialog";
import { Choice } from "@/components/ui/field";

interface OnceDialogProps {
  readonly secret: string;
  readonly title: string;
  readonly lead: string;
  readonly fieldLabel: string;
  readonly testId: string;
  /** Other ways to keep it, beside copying. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

/** The only time a secret is seen. It closes only after the person says that it is stored. */
export function OnceDialog(props: OnceDialogProps): ReactElement {
  const t = useTranslations("keys");
  const [isStored, setStored] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  return (
    <DialogFrame
      shape="dialog"
      onClose={null}
      className="md:max-w-lg"
      title={props.title}
      description={props.lead}
      footer={
        <Button variant="primary" disabled={!isStored} onClick={props.onClose}>
          {t("onceDone")}
        </Button>
      }
    >
      <div className="grid gap-3">
        <input
          ref={field}
          readOnly
          value={props.secret}
          aria-label={props.fieldLabel}
          data-testid={props.testId}
          onFocus={(event) => event.currentTarget.select()}
          className="h-11 w-full rounded-md border border-line-strong/60 bg-sunken px-3 font-mono text-[0.8125rem]"
        />
        <div className="flex flex-wrap gap-2">
          <CopyButton text={props.secret} onRefused={() => field.current?.select()} />
          {props.children}
        </div>
        <Choice
          type="checkbox"
          label={t("onceStored")}
          checked={isStored}
          onChange={(event) => setStored(event.target.checked)}
        />
      </div>
    </DialogFrame>
  );
}
