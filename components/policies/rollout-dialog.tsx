"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { toast } from "sonner";
import { FormFrame } from "@/components/query/form-frame";
import { queryKeys } from "@/components/query/keys";
import { useConsoleWrite } from "@/components/query/use-console-write";
import { useErrorText } from "@/components/query/use-error-text";
import { Choice, Field, Select } from "@/components/ui/field";
import type { PolicyVersionView, PolicyView, RolloutView } from "@/lib/contracts/policies";
import { PolicyChanges } from "./policy-changes";
import { ReplayView } from "./replay-view";
import { activeVersionOf } from "./use-policies";

/** What is to be done with a rollout, before it is confirmed. */
export type RolloutAct =
  | { readonly kind: "start"; readonly version: PolicyVersionView }
  | { readonly kind: "move" | "hold" | "release" | "abort" | "complete"; readonly rollout: RolloutView };

interface DialogProps {
  readonly policy: PolicyView;
  readonly act: RolloutAct;
  readonly onClose: () => void;
}

const SHARES = [0, 1, 5, 10, 25, 50, 75, 100] as const;

interface Request {
  readonly path: string;
  readonly body: unknown;
}

function moveTo(policy: PolicyView, versionId: string, percent: number): Request {
  return { path: `/api/console/policies/${policy.id}/rollout`, body: { policyVersionId: versionId, percent } };
}

function requestOf(policy: PolicyView, act: RolloutAct, percent: number): Request {
  if (act.kind === "start") return moveTo(policy, act.version.id, percent);
  const { rollout } = act;
  if (act.kind === "move") return moveTo(policy, rollout.versionId, percent);
  const path = `/api/console/rollouts/${rollout.id}`;
  if (act.kind === "hold" || act.kind === "release")
    return { path: `${path}/hold`, body: { held: act.kind === "hold" } };
  return { path: `${path}/end`, body: { outcome: act.kind === "abort" ? "aborted" : "completed" } };
}

/** The way back; null where there is none but another act, such as going back to a version. `rolloutId`: of the one that was made. */
function wayBack(policy: PolicyView, act: RolloutAct, rolloutId: string): Request | null {
  switch (act.kind) {
    case "start":
      return { path: `/api/console/rollouts/${rolloutId}/end`, body: { outcome: "aborted" } };
    case "move":
    case "abort":
      return moveTo(policy, act.rollout.versionId, act.rollout.percent);
    case "hold":
    case "release":
      return { path: `/api/console/rollouts/${rolloutId}/hold`, body: { held: act.kind === "release" } };
    case "complete": {
      const before = policy.activeVersionId;
      const path = `/api/console/policies/${policy.id}/activate`;
      return before === null ? null : { path, body: { policyVersionId: before } };
    }
  }
}

/** Asks once, saying what will be, and does it; the toast takes it back. */
export function RolloutDialog({ policy, act, onClose }: DialogProps): ReactElement {
  const t = useTranslations("rollouts");
  const c = useTranslations("common");
  const errorText = useErrorText();
  const [stale, history] = [queryKeys.policies, queryKeys.rolloutHistory(policy.id)];
  const write = useConsoleWrite(stale, history);
  const back = useConsoleWrite(stale, history);
  const now = act.kind === "start" ? 0 : act.rollout.percent;
  const [percent, setPercent] = useState<number>(
    act.kind === "move" ? (SHARES.find((share) => share > now) ?? now) : now,
  );
  const versionId = act.kind === "start" ? act.version.id : act.rollout.versionId;
  const number = act.kind === "start" ? act.version.number : act.rollout.versionNumber;
  const version = policy.versions.find((one) => one.id === versionId);
  const asksShare = act.kind === "start" || act.kind === "move";

  // By promises: what is written may take this dialog away before the toast is used.
  async function undo(request: Request): Promise<void> {
    try {
      await back.mutateAsync({ ...request, method: "POST" });
      toast.success(c("undone"));
    } catch (error) {
      toast.error(errorText(error), { duration: Infinity, closeButton: true });
    }
  }

  function submit(): void {
    write.mutate(
      { ...requestOf(policy, act, percent), method: "POST" },
      {
        onSuccess: ({ id }) => {
          const request = wayBack(policy, act, id);
          toast.success(t(`done.${act.kind}`, { number, percent }), {
            duration: 10_000,
            ...(request === null ? {} : { action: { label: c("undo"), onClick: () => void undo(request) } }),
          });
          onClose();
        },
      },
    );
  }

  return (
    <FormFrame
      shape="dialog"
      className="md:max-w-2xl"
      title={t(`title.${act.kind}`, { number })}
      description={t(`lead.${act.kind}`, { number, percent: now })}
      submitLabel={t(`confirm.${act.kind}`)}
      isDanger={act.kind === "abort"}
      canSubmit={act.kind !== "move" || percent !== now}
      isPending={write.isPending}
      error={write.error}
      onSubmit={submit}
      onClose={onClose}
    >
      {act.kind === "start" ? <HowMany percent={percent} onChange={setPercent} /> : null}
      {act.kind === "move" ? (
        <Field label={t("share")}>
          {(attributes) => (
            <Select
              {...attributes}
              className="w-auto justify-self-start"
              value={percent}
              onChange={(event) => setPercent(Number(event.target.value))}
            >
              {[...new Set([...SHARES, now])]
                .sort((one, other) => one - other)
                .map((share) => (
                  <option key={share} value={share}>
                    {share === 0 ? t("shadow") : t("percent", { percent: share })}
                  </option>
                ))}
            </Select>
          )}
        </Field>
      ) : null}
      {act.kind === "hold" || act.kind === "release" ? null : (
        <>
          {asksShare || act.kind === "complete" ? (
            <ReplayView policyId={policy.id} versionId={versionId} percent={asksShare ? percent : null} />
          ) : null}
          <section>
            <h3 className="mb-1 text-[0.8125rem] font-semibold">{t("against")}</h3>
            <PolicyChanges before={activeVersionOf(policy)?.document ?? {}} after={version?.document ?? {}} />
          </section>
        </>
      )}
    </FormFrame>
  );
}

/** In shadow first, or at once for a share. */
function HowMany({
  percent,
  onChange,
}: {
  readonly percent: number;
  readonly onChange: (percent: number) => void;
}): ReactElement {
  const t = useTranslations("rollouts");
  return (
    <fieldset>
      <legend className="mb-1 text-[0.8125rem] font-medium">{t("howMany")}</legend>
      {SHARES.slice(0, -1).map((share) => (
        <Choice
          key={share}
          type="radio"
          name="share"
          label={share === 0 ? t("shadow") : t("percent", { percent: share })}
          {...(share === 0 ? { hint: t("shadowHint") } : {})}
          checked={percent === share}
          onChange={() => onChange(share)}
        />
      ))}
    </fieldset>
  );
}
