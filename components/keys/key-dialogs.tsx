"use client";
import { TriangleAlert } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { countText } from "@/components/format/money";
import { relativeText } from "@/components/format/time";
import { FormFrame } from "@/components/query/form-frame";
import { Field, Input } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { ApiKeyView } from "@/lib/contracts/keys";
import { GraceChoice } from "./grace-choice";
import { useRevoke, useSecretWrite } from "./use-keys";

interface RotateProps {
  readonly apiKey: ApiKeyView;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}

const DEFAULT_GRACE_SECONDS = 86_400;

export function RotateDialog({ apiKey, onClose, onSecret }: RotateProps): ReactElement {
  const t = useTranslations("keys");
  const write = useSecretWrite();
  const [grace, setGrace] = useState<number>(DEFAULT_GRACE_SECONDS);

  function submit(): void {
    write.mutate(
      { kind: "rotate", keyId: apiKey.id, graceSeconds: grace },
      { onSuccess: (result) => onSecret(result.secret) },
    );
  }

  return (
    <FormFrame
      shape="dialog"
      title={t("rotateTitle", { name: apiKey.name })}
      description={t("rotateLead")}
      submitLabel={t("rotateAction")}
      pendingLabel={t("rotating")}
      isPending={write.isPending}
      error={write.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <GraceChoice legend={t("graceLegend")} value={grace} onChange={setGrace} />
    </FormFrame>
  );
}

interface RevokeProps {
  readonly apiKey: ApiKeyView;
  readonly nowMs: number;
  readonly onClose: () => void;
}

/** A grave act: the effect is stated with numbers, and the key's name has to be typed. */
export function RevokeDialog({ apiKey, nowMs, onClose }: RevokeProps): ReactElement {
  const t = useTranslations("keys");
  const locale = useLocale();
  const revoke = useRevoke();
  const [name, setName] = useState("");
  const matches = name.trim() === apiKey.name;

  function submit(): void {
    revoke.mutate(
      { keyId: apiKey.id, confirmName: name.trim() },
      {
        onSuccess: () => {
          toast.success(t("revoked", { name: apiKey.name }));
          onClose();
        },
      },
    );
  }

  return (
    <FormFrame
      shape="dialog"
      title={t("revokeTitle", { name: apiKey.name })}
      description={t("revokeLead")}
      submitLabel={t("revokeAction")}
      pendingLabel={t("revoking")}
      isDanger
      canSubmit={matches}
      isPending={revoke.isPending}
      error={revoke.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <Notice tone="warn" icon={<TriangleAlert aria-hidden className="text-warn-ink" />}>
        <p>
          {apiKey.requestsLastDay === 0
            ? t("revokeUnused")
            : t("revokeUsed", { count: countText(apiKey.requestsLastDay, locale), app: apiKey.appName })}
        </p>
        {apiKey.lastUsedAtMs === null ? null : (
          <p className="text-[0.8125rem] text-soft">
            {t("revokeLastUsed", { ago: relativeText(apiKey.lastUsedAtMs, nowMs, locale) })}
          </p>
        )}
      </Notice>
      <Field label={t("revokeType", { name: apiKey.name })}>
        {(attributes) => (
          <Input
            {...attributes}
            autoComplete="off"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
    </FormFrame>
  );
}
