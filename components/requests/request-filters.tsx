"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/field";
import { SearchField } from "@/components/ui/search-field";
import { REQUEST_DECISIONS } from "@/lib/contracts/requests";
import type { RequestList, RequestListQuery } from "@/lib/contracts/requests";
import { useDecisionText, useOutcomeText } from "./use-request-words";

interface FiltersProps {
  readonly query: RequestListQuery;
  /** For the choices; undefined while loading. */
  readonly list: RequestList | undefined;
  readonly onChange: (change: Partial<RequestListQuery>) => void;
}

/** What people look for; any other code stands in the address. */
const FILTER_CODES = [
  "ORGANIZATION_BUDGET_EXHAUSTED",
  "DEPARTMENT_BUDGET_EXHAUSTED",
  "TEAM_BUDGET_EXHAUSTED",
  "APP_BUDGET_EXHAUSTED",
  "KEY_BUDGET_EXHAUSTED",
  "PROTECTED_RUNG",
  "rate_limit_exceeded",
  "consumer_frozen",
  "model_not_allowed",
  "price_missing",
  "max_cost_exceeded",
  "replayed",
  "deferred",
] as const;

export function RequestFilters({ query, list, onChange }: FiltersProps): ReactElement {
  const t = useTranslations("requests");
  const decisionText = useDecisionText();
  const outcomeText = useOutcomeText();
  const [clearings, setClearings] = useState(0);
  const isFiltered = [query.q, query.app, query.model, query.decision, query.outcome, query.session].some(
    (one) => one !== "",
  );
  const outcomes = [...(list?.outcomes ?? []), ...FILTER_CODES];
  return (
    <div className="mb-3 grid grid-cols-2 gap-2 sm:flex sm:flex-wrap" role="search">
      <SearchField
        key={clearings}
        className="col-span-2 sm:max-w-xs"
        label={t("search")}
        value={query.q}
        onChange={(q) => onChange({ q })}
      />
      <SearchField
        key={`session ${String(clearings)}`}
        className="col-span-2 sm:max-w-56"
        label={t("filter.session")}
        value={query.session}
        onChange={(session) => onChange({ session })}
      />
      <Select
        aria-label={t("filter.app")}
        className="sm:w-auto sm:max-w-48"
        value={query.app}
        onChange={(event) => onChange({ app: event.target.value })}
      >
        <option value="">{t("filter.anyApp")}</option>
        {(list?.apps ?? []).map((app) => (
          <option key={app.id} value={app.id}>
            {app.name}
          </option>
        ))}
      </Select>
      <Select
        aria-label={t("filter.model")}
        className="sm:w-auto sm:max-w-48"
        value={query.model}
        onChange={(event) => onChange({ model: event.target.value })}
      >
        <option value="">{t("filter.anyModel")}</option>
        {[...new Set([...(list?.models ?? []), ...(query.model === "" ? [] : [query.model])])].map((model) => (
          <option key={model} value={model}>
            {model}
          </option>
        ))}
      </Select>
      <Select
        aria-label={t("filter.decision")}
        className="sm:w-auto sm:max-w-48"
        value={query.decision}
        onChange={(event) => onChange({ decision: REQUEST_DECISIONS.find((one) => one === event.target.value) ?? "" })}
      >
        <option value="">{t("filter.anyDecision")}</option>
        {REQUEST_DECISIONS.map((decision) => (
          <option key={decision} value={decision}>
            {decisionText(decision)}
          </option>
        ))}
      </Select>
      <Select
        aria-label={t("filter.outcome")}
        className="sm:w-auto sm:max-w-48"
        value={query.outcome}
        onChange={(event) => onChange({ outcome: event.target.value })}
      >
        <option value="">{t("filter.anyOutcome")}</option>
        {[...new Set([...outcomes, ...(query.outcome === "" ? [] : [query.outcome])])].map((outcome) => (
          <option key={outcome} value={outcome}>
            {outcomeText(outcome)}
          </option>
        ))}
      </Select>
      {isFiltered ? (
        <Button
          variant="ghost"
          onClick={() => {
            setClearings(clearings + 1);
            onChange({ q: "", app: "", model: "", decision: "", outcome: "" });
          }}
        >
          {t("clear")}
        </Button>
      ) : null}
    </div>
  );
}
