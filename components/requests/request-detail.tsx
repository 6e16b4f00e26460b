"use client";
import { useLocale, useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement, ReactNode } from "react";
import { MoneyWithCode } from "@/components/format/figures";
import { amountOfMeter, countText, exactMoneyText } from "@/components/format/money";
import { dateTimeText, durationText, logTimeText, utcText, zoneText } from "@/components/format/time";
import { BackLink } from "@/components/shell/back-link";
import { Badge } from "@/components/ui/badge";
import { Card, CardHeader } from "@/components/ui/card";
import { CopyButton } from "@/components/ui/copy-button";
import type { RequestAttempt, RequestDetail } from "@/lib/contracts/requests";
import { REQUEST_DECISIONS } from "@/lib/contracts/requests";
import { RefusalCard } from "./refusal-card";
import { useExplanation } from "./use-explanation";
import { decisionTone, useDecisionText, useOutcomeText } from "./use-request-words";

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-soft">{label}</dt>
      <dd className="mt-0.5 text-[0.8125rem] break-words">{children}</dd>
    </div>
  );
}

function Facts({ detail }: { readonly detail: RequestDetail }): ReactElement {
  const t = useTranslations("requests");
  const b = useTranslations("budgets");
  const l = useTranslations("ladders");
  const locale = useLocale();
  const { timeZone } = detail.organisation;
  const known = (name: string | null): string =>
    name !== null && l.has(`classes.${name as "core"}`) ? l(`classes.${name as "core"}`) : (name ?? "–");
  return (
    <Card>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 p-4 sm:grid-cols-3 sm:p-5 lg:grid-cols-[auto_minmax(0,1.6fr)_repeat(4,minmax(0,1fr))]">
        <Fact label={t("fact.time")}>
          <time dateTime={new Date(detail.atMs).toISOString()} title={utcText(detail.atMs)} className="figures">
            {dateTimeText(detail.atMs, locale, timeZone, "second")}
          </time>
          <span className="block text-xs text-soft">{zoneText(detail.atMs, timeZone)}</span>
        </Fact>
        <Fact label={t("fact.app")}>{detail.path.length === 0 ? "–" : detail.path.slice(1).join(" / ")}</Fact>
        <Fact label={t("fact.key")}>{detail.keyName ?? "–"}</Fact>
        <Fact label={t("fact.kind")}>
          {detail.environment !== null && b.has(`environments.${detail.environment as "test"}`)
            ? b(`environments.${detail.environment as "test"}`)
            : (detail.environment ?? "–")}
          {` · ${known(detail.trafficClass)}`}
        </Fact>
        <Fact label={t("fact.route")}>
          <span className="font-mono text-xs">{detail.route}</span>
        </Fact>
        <Fact label={t("fact.user")}>{detail.endUser ?? "–"}</Fact>
        {detail.session === null ? null : (
          <Fact label={t("fact.session")}>
            <Link
              href={`/requests?${new URLSearchParams({ session: detail.session }).toString()}`}
              className="font-mono text-xs break-all text-brand underline-offset-4 hover:underline"
            >
              {detail.session}
            </Link>
          </Fact>
        )}
        {detail.deferredFrom === null ? null : (
          <Fact label={t("fact.deferredFrom")}>
            {detail.deferredFrom.requestId === null ? (
              <span className="font-mono text-xs break-all">{detail.deferredFrom.id}</span>
            ) : (
              <Link
                href={`/requests/${detail.deferredFrom.requestId}`}
                className="font-mono text-xs break-all text-brand underline-offset-4 hover:underline"
              >
                {detail.deferredFrom.id}
              </Link>
            )}
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function Arithmetic({
  attempt,
  currency,
}: {
  readonly attempt: RequestAttempt;
  readonly currency: string;
}): ReactElement {
  const t = useTranslations("requests");
  const locale = useLocale();
  const converted = attempt.priceCurrency !== currency;
  const exact = (nanos: string): string => `${currency}\u00a0${exactMoneyText(nanos, locale)}`;
  // Few prices have regional or speed factors; the others need no column of ones.
  const hasFactors = attempt.components.some((one) => one.multiplier !== undefined);
  const beforeAmount = hasFactors ? 4 : 3;
  return (
    <div className="overflow-x-auto" role="region" aria-label={t("section.cost")} tabIndex={0}>
      <table className="figures w-full text-[0.8125rem] max-sm:text-xs max-sm:[&_td]:px-1 max-sm:[&_th]:px-1">
        <thead className="text-left text-xs text-soft">
          <tr>
            <th className="py-1.5 pr-3 font-medium">{t("cost.component")}</th>
            <th className="px-3 py-1.5 text-right font-medium">{t("cost.quantity")}</th>
            <th className="px-3 py-1.5 text-right font-medium">
              {t("cost.rate", { currency: attempt.priceCurrency })}
            </th>
            {hasFactors ? <th className="px-3 py-1.5 text-right font-medium">{t("cost.multiplier")}</th> : null}
            <th className="py-1.5 pl-3 text-right font-medium">
              {t("cost.amount", { currency: attempt.priceCurrency })}
            </th>
          </tr>
        </thead>
        <tbody>
          {attempt.components.map((one, index) => (
            <tr key={`${one.kind}${String(index)}`} className="border-t">
              <td className="py-1.5 pr-3">
                {t.has(`cost.kinds.${one.kind as "input"}`) ? t(`cost.kinds.${one.kind as "input"}`) : one.kind}
              </td>
              <td className="px-3 py-1.5 text-right">{countText(one.quantity, locale)}</td>
              <td className="px-3 py-1.5 text-right">{one.rate}</td>
              {hasFactors ? <td className="px-3 py-1.5 text-right">{one.multiplier ?? "1"}</td> : null}
              <td className="py-1.5 pl-3 text-right">
                {one.costNanos === "" ? "–" : exactMoneyText(one.costNanos.split(".")[0] ?? "0", locale)}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot className="border-t font-medium">
          <tr>
            <td className="py-1.5 pr-3" colSpan={beforeAmount}>
              {t("cost.total")}
            </td>
            <td className="py-1.5 pl-3 text-right">{exactMoneyText(attempt.priceAmount, locale)}</td>
          </tr>
          {converted ? (
            <tr>
              <td className="pr-3 pb-1.5 font-normal text-soft" colSpan={beforeAmount}>
                {t("cost.converted", { from: attempt.priceCurrency, to: currency, rate: attempt.fxRate ?? "–" })}
              </td>
              <td className="pb-1.5 pl-3 text-right">{exact(attempt.amount)}</td>
            </tr>
          ) : null}
        </tfoot>
      </table>
    </div>
  );
}

function Lines({ attempt }: { readonly attempt: RequestAttempt }): ReactElement {
  const t = useTranslations("requests");
  const b = useTranslations("budgets");
  const locale = useLocale();
  if (attempt.lines.length === 0) return <p className="text-[0.8125rem] text-soft">{t("noLines")}</p>;
  return (
    <ul className="figures divide-y text-[0.8125rem]">
      {attempt.lines.map((line) => (
        <li key={`${line.b}${line.p}`} className="flex items-baseline justify-between gap-3 py-1.5">
          <span className="min-w-0">
            <span className="font-medium">{line.consumerName ?? line.budgetName ?? line.b}</span>
            <span className="text-soft">{` · ${line.budgetName ?? "–"} · ${line.p.slice(1)}`}</span>
          </span>
          <span className="shrink-0">
            {line.m === "cost" ? exactMoneyText(line.a, locale) : amountOfMeter(line.a, line.m, locale)}
            {line.m === "cost" ? "" : ` ${b(`meters.${line.m}`)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Timing({ attempt, timeZone }: { readonly attempt: RequestAttempt; readonly timeZone: string }): ReactElement {
  const t = useTranslations("requests");
  const locale = useLocale();
  const steps = [
    { label: t("timing.reserved"), text: logTimeText(attempt.atMs, locale, timeZone) },
    {
      label: t("timing.firstByte"),
      text: attempt.firstByteMs === null ? "–" : durationText(attempt.firstByteMs, locale),
    },
    { label: t("timing.total"), text: attempt.latencyMs === null ? "–" : durationText(attempt.latencyMs, locale) },
    { label: t("timing.settled"), text: logTimeText(attempt.settledAtMs, locale, timeZone) },
    { label: t("timing.booked"), text: logTimeText(attempt.bookedAtMs, locale, timeZone) },
  ];
  return (
    <dl className="figures grid grid-cols-2 gap-3 sm:grid-cols-5">
      {steps.map((step) => (
        <Fact key={step.label} label={step.label}>
          {step.text}
        </Fact>
      ))}
    </dl>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className="border-t px-4 py-3.5 sm:px-5">
      <h3 className="mb-2 text-xs font-medium text-soft">{title}</h3>
      {children}
    </section>
  );
}

function Attempt({
  attempt,
  detail,
}: {
  readonly attempt: RequestAttempt;
  readonly detail: RequestDetail;
}): ReactElement {
  const t = useTranslations("requests");
  const locale = useLocale();
  const decisionText = useDecisionText();
  const outcomeText = useOutcomeText();
  const explain = useExplanation();
  const { currency, timeZone } = detail.organisation;
  const exact = (nanos: string): string => `${currency}\u00a0${exactMoneyText(nanos, locale)}`;
  const decision = REQUEST_DECISIONS.find((one) => one === attempt.decision) ?? "pass";
  const { kind } = attempt;
  return (
    <Card>
      <CardHeader
        title={kind === "usage" ? t("attempt", { number: attempt.attempt + 1 }) : t(`entry.${kind}`)}
        note={`${attempt.modelServed}${attempt.provider === null ? "" : ` · ${attempt.provider}`}`}
        action={
          <span className="flex flex-wrap gap-1.5">
            <Badge tone={decisionTone(decision)}>{decisionText(decision)}</Badge>
            <Badge tone={attempt.outcome === "ok" ? "good" : "warn"}>{outcomeText(attempt.outcome)}</Badge>
            {attempt.isEstimated ? <Badge tone="warn">{t("estimated")}</Badge> : null}
            {attempt.isOverflow ? <Badge tone="warn">{t("fromOverflow")}</Badge> : null}
          </span>
        }
      />
      {kind === "usage" ? (
        <div className="px-4 pb-3.5 text-[0.9375rem] leading-relaxed sm:px-5">
          {explain.ofAttempt(attempt, detail).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      ) : null}
      <Section title={t("section.cost")}>
        <Arithmetic attempt={attempt} currency={currency} />
        <p className="figures mt-2 text-xs text-soft">
          {t("heldThen", {
            held: exact(attempt.heldAmount),
            amount: exact(attempt.amount),
          })}
          {attempt.overageAmount === "0" ? "" : ` ${t("overage", { amount: exact(attempt.overageAmount) })}`}
        </p>
      </Section>
      <Section title={t("section.lines", { currency })}>
        <Lines attempt={attempt} />
      </Section>
      <Section title={t("section.timing")}>
        <Timing attempt={attempt} timeZone={timeZone} />
      </Section>
    </Card>
  );
}

export function RequestDetailView({ detail }: { readonly detail: RequestDetail }): ReactElement {
  const t = useTranslations("requests");
  return (
    <>
      <BackLink href="/requests" text={t("back")} />
      <div className="mb-5 flex flex-wrap items-end justify-between gap-3">
        <div className="min-w-0">
          <h1 className="text-[1.375rem] leading-tight font-semibold tracking-[-0.015em]">{t("detailTitle")}</h1>
          <p className="mt-1 flex items-center gap-1 font-mono text-xs break-all text-soft">
            {detail.requestId}
            <CopyButton text={detail.requestId} what={t("requestId")} />
          </p>
        </div>
        {detail.attempts.length === 0 ? null : (
          <p className="text-right">
            <span className="block text-xs text-soft">{t("totalCost")}</span>
            <span className="text-xl font-semibold">
              <MoneyWithCode nanos={detail.totalAmount} currency={detail.organisation.currency} />
            </span>
          </p>
        )}
      </div>
      <div className="grid gap-4">
        <Facts detail={detail} />
        {detail.refusal === null ? null : <RefusalCard refusal={detail.refusal} detail={detail} />}
        {detail.attempts.map((attempt) => (
          <Attempt
            key={`${String(attempt.attempt)}:${attempt.kind}:${String(attempt.sequence)}`}
            attempt={attempt}
            detail={detail}
          />
        ))}
      </div>
    </>
  );
}
