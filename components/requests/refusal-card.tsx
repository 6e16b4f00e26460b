"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement } from "react";
import { Badge } from "@/components/ui/badge";
import { Card, CardHeader } from "@/components/ui/card";
import { decisionOfCode } from "@/lib/contracts/requests";
import type { RequestDetail, RequestRefusal } from "@/lib/contracts/requests";
import { useExplanation } from "./use-explanation";
import { decisionTone, useOutcomeText } from "./use-request-words";

/** Why the call was stopped, or what it got in place of a provider's answer. */
export function RefusalCard({
  refusal,
  detail,
}: {
  readonly refusal: RequestRefusal;
  readonly detail: RequestDetail;
}): ReactElement {
  const t = useTranslations("requests");
  const outcomeText = useOutcomeText();
  const explain = useExplanation();
  const decision = decisionOfCode(refusal.code);
  return (
    <Card>
      <CardHeader
        title={t(decision === "refused" ? "refusedTitle" : "noteTitle")}
        action={
          <Badge tone={decisionTone(decision)}>{`${String(refusal.statusCode)} · ${outcomeText(refusal.code)}`}</Badge>
        }
      />
      <div className="px-4 pb-4 text-[0.9375rem] leading-relaxed sm:px-5">
        {explain.ofRefusal(refusal, detail).map((sentence) => (
          <p key={sentence} className="break-words">
            {sentence}
          </p>
        ))}
        {refusal.replayedRequestId === null ? null : (
          <Link
            href={`/requests/${refusal.replayedRequestId}`}
            className="text-brand underline-offset-4 hover:underline"
          >
            {t("toFirstCall")}
          </Link>
        )}
        {refusal.deferral?.runRequestId == null ? null : (
          <Link
            href={`/requests/${refusal.deferral.runRequestId}`}
            className="text-brand underline-offset-4 hover:underline"
          >
            {t("toRun")}
          </Link>
        )}
      </div>
    </Card>
  );
}
