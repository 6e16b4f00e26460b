"use client";
import { Download } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { saveText } from "@/components/format/save-csv";
import { Button } from "@/components/ui/button";
import { OnceDialog } from "./once-dialog";

interface SecretDialogProps {
  readonly secret: string;
  readonly onClose: () => void;
}

/** Saves the key as the environment file that SDKs read. The text goes to the person's disk and nowhere else. */
function download(secret: string): void {
  const text = `OPENAI_API_KEY=${secret}\nOPENAI_BASE_URL=${window.location.origin}/v1\n`;
  saveText("spillway.env", "text/plain", text);
}

/** A full API key, once. */
export function SecretDialog({ secret, onClose }: SecretDialogProps): ReactElement {
  const t = useTranslations("keys");
  return (
    <OnceDialog
      secret={secret}
      title={t("onceTitle")}
      lead={t("onceLead")}
      fieldLabel={t("onceField")}
      testId="api-key-secret"
      onClose={onClose}
    >
      <Button onClick={() => download(secret)}>
        <Download aria-hidden /> {t("onceDownload")}
      </Button>
    </OnceDialog>
  );
}
