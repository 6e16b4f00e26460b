"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { dateTimeText } from "@/components/format/time";
import { GraceChoice } from "@/components/keys/grace-choice";
import { OnceDialog } from "@/components/keys/once-dialog";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card, CardHeader } from "@/components/ui/card";
import { Field, Input } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import type { WebhookList } from "@/lib/contracts/webhooks";
import { useWebhookSecret } from "./use-webhooks";

const DEFAULT_GRACE_SECONDS = 86_400;

interface DialogProps {
  readonly list: WebhookList;
  readonly onClose: () => void;
}

/** The first secret, or one in place of the last; the last one signs too for as long as is chosen. */
function ReplaceDialog({
  list,
  onClose,
  onSecret,
}: DialogProps & { readonly onSecret: (secret: string) => void }): ReactElement {
  const t = useTranslations("webhooks");
  const write = useWebhookSecret();
  const [grace, setGrace] = useState<number>(DEFAULT_GRACE_SECONDS);
  const isFirst = list.secret.changedAtMs === null;
  return (
    <FormFrame
      shape="dialog"
      title={t(isFirst ? "createTitle" : "rotateTitle")}
      description={t(isFirst ? "createLead" : "rotateLead")}
      submitLabel={t(isFirst ? "create" : "rotate")}
      isPending={write.isPending}
      error={write.error}
      onSubmit={() => write.mutate(grace, { onSuccess: ({ secret }) => onSecret(secret) })}
      onClose={onClose}
    >
      {isFirst ? null : <GraceChoice legend={t("graceLegend")} value={grace} onChange={setGrace} />}
      {list.secret.previousUntilMs === null ? null : <Notice tone="warn">{t("rotateTwice")}</Notice>}
    </FormFrame>
  );
}

const CONFIRM_WORD = "whsec";

/** Grave: without a secret nothing is posted, so a word has to be typed. The end of an overlap is asked once. */
function RevokeDialog({
  which,
  onClose,
}: {
  readonly which: "previous" | "all";
  readonly onClose: () => void;
}): ReactElement {
  const t = useTranslations("webhooks");
  const write = useConsoleWrite(queryKeys.allWebhooks);
  const [typed, setTyped] = useState("");
  return (
    <FormFrame
      shape="dialog"
      isDanger
      title={t(which === "all" ? "revokeTitle" : "endTitle")}
      description={t(which === "all" ? "revokeLead" : "endLead")}
      submitLabel={t(which === "all" ? "revoke" : "end")}
      canSubmit={which === "previous" || typed.trim() === CONFIRM_WORD}
      isPending={write.isPending}
      error={write.error}
      onSubmit={() =>
        write.mutate(
          { path: "/api/console/webhook-secret", method: "DELETE", body: { which } },
          {
            onSuccess: () => {
              toast.success(t(which === "all" ? "revoked" : "ended"));
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    >
      {which === "all" ? (
        <Field label={t("revokeType", { word: CONFIRM_WORD })}>
          {(attributes) => (
            <Input
              {...attributes}
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
      ) : null}
    </FormFrame>
  );
}

type Panel =
  | { readonly kind: "replace" }
  | { readonly kind: "once"; readonly secret: string }
  | { readonly kind: "revoke"; readonly which: "previous" | "all" };

/** Whether there is a secret, since when, and whether the one before signs too. */
export function SecretCard({ list }: { readonly list: WebhookList }): ReactElement {
  const t = useTranslations("webhooks");
  const locale = useLocale();
  const [panel, setPanel] = useState<Panel | null>(null);
  const close = (): void => setPanel(null);
  const { changedAtMs, previousUntilMs } = list.secret;
  const at = (ms: number): string => dateTimeText(ms, locale, list.organisation.timeZone);
  return (
    <Card aria-labelledby="webhook-secret-title">
      <CardHeader id="webhook-secret-title" title={t("secretTitle")} note={t("secretNote")} />
      <div className="grid gap-3 px-4 pb-4 text-[0.8125rem] sm:px-5">
        <p className="flex flex-wrap items-center gap-2">
          {changedAtMs === null ? (
            <>
              <Badge tone="warn">{t("noSecret")}</Badge> {t("noSecretBody")}
            </>
          ) : (
            <>
              <Badge tone="good">{t("hasSecret")}</Badge> {t("since", { at: at(changedAtMs) })}
            </>
          )}
        </p>
        {previousUntilMs === null ? null : <Notice>{t("overlap", { at: at(previousUntilMs) })}</Notice>}
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            variant={changedAtMs === null ? "primary" : "secondary"}
            onClick={() => setPanel({ kind: "replace" })}
          >
            {t(changedAtMs === null ? "create" : "rotateAct")}
          </Button>
          {previousUntilMs === null ? null : (
            <Button size="sm" onClick={() => setPanel({ kind: "revoke", which: "previous" })}>
              {t("endAct")}
            </Button>
          )}
          {changedAtMs === null ? null : (
            <Button size="sm" variant="dangerGhost" onClick={() => setPanel({ kind: "revoke", which: "all" })}>
              {t("revokeAct")}
            </Button>
          )}
        </div>
      </div>
      {panel?.kind === "replace" ? (
        <ReplaceDialog list={list} onClose={close} onSecret={(secret) => setPanel({ kind: "once", secret })} />
      ) : null}
      {panel?.kind === "once" ? (
        <OnceDialog
          secret={panel.secret}
          title={t("onceTitle")}
          lead={t("onceLead")}
          fieldLabel={t("onceField")}
          testId="webhook-secret"
          onClose={close}
        />
      ) : null}
      {panel?.kind === "revoke" ? <RevokeDialog which={panel.which} onClose={close} /> : null}
    </Card>
  );
}
