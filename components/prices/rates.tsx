"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { isOfToken, shownRate } from "./rate-text";
import type { RateLine } from "./rate-text";

/** What a rate is called: the common ones in words, the others by their path in the row. */
export function RateName({ path }: { readonly path: string }): ReactElement {
  const t = useTranslations("prices");
  return t.has(`rates.${path as "inputPerToken"}`) ? (
    <>{t(`rates.${path as "inputPerToken"}`)}</>
  ) : (
    <span className="font-mono text-xs break-all">{path}</span>
  );
}

/** Lines of a price row, tokens by the million. */
export function RateList({ lines }: { readonly lines: readonly RateLine[] }): ReactElement {
  const t = useTranslations("prices");
  return (
    <dl className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-0.5 text-[0.8125rem]">
      {lines.map(({ path, text }) => (
        <div key={path} className="contents">
          <dt className="text-soft">
            <RateName path={path} />
          </dt>
          <dd className="figures text-right break-all">
            {shownRate(path, text)}
            {isOfToken(path) ? <span className="text-xs text-soft">{` ${t("perMillion")}`}</span> : null}
          </dd>
        </div>
      ))}
    </dl>
  );
}
