"use client";
import { Download } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { saveText } from "@/components/format/save-csv";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { DialogFrame } from "@/components/ui/dialog";
import { Choice } from "@/components/ui/field";

interface SecretDialogProps {
  readonly secret: string;
  readonly onClose: () => void;
}

/** Saves the key as the environment file that SDKs read. The text goes to the person's disk and nowhere else. */
function download(secret: string): void {
  const text = `OPENAI_API_KEY=${secret}\nOPENAI_BASE_URL=${window.location.origin}/v1\n`;
  saveText("spillway.env", "text/plain", text);
}

/** The only time the full key is seen. It closes only after the person says that it is stored. */
export function SecretDialog({ secret, onClose }: SecretDialogProps): ReactElement {
  const t = useTranslations("keys");
  const [stored, setStored] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  return (
    <DialogFrame
      shape="dialog"
      onClose={null}
      className="md:max-w-lg"
      title={t("onceTitle")}
      description={t("onceLead")}
      footer={
        <Button variant="primary" disabled={!stored} onClick={onClose}>
          {t("onceDone")}
        </Button>
      }
    >
      <div className="grid gap-3">
        <input
          ref={field}
          readOnly
          value={secret}
          aria-label={t("onceField")}
          data-testid="api-key-secret"
          onFocus={(event) => event.currentTarget.select()}
          className="h-11 w-full rounded-md border border-line-strong/60 bg-sunken px-3 font-mono text-[0.8125rem]"
        />
        <div className="flex flex-wrap gap-2">
          <CopyButton text={secret} onRefused={() => field.current?.select()} />
          <Button onClick={() => download(secret)}>
            <Download aria-hidden /> {t("onceDownload")}
          </Button>
        </div>
        <Choice
          type="checkbox"
          label={t("onceStored")}
          checked={stored}
          onChange={(event) => setStored(event.target.checked)}
        />
      </div>
    </DialogFrame>
  );
}
