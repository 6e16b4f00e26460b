"use client";
import { useMutation } from "@tanstack/react-query";
import { useLocale, useTranslations } from "next-intl";
import { useState, useSyncExternalStore } from "react";
import type { ReactElement, SyntheticEvent } from "react";
import { ConsoleRequestError, newIdempotencyKey, writeConsole } from "@/components/query/console-fetch";
import { useErrorText, useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Choice, Field, Input, Select } from "@/components/ui/field";
import { Notice } from "@/components/ui/notice";
import { firstOrganisationInput, organisationFounded } from "@/lib/contracts/organisations";
import type { FirstOrganisationInput } from "@/lib/contracts/organisations";

const CURRENCIES = [
  ...["USD", "EUR", "GBP", "CNY", "JPY", "HKD", "SGD", "TWD", "KRW", "INR", "AUD", "CAD", "CHF", "SEK", "NOK", "DKK"],
  ...["PLN", "BRL", "MXN", "AED", "ZAR"],
];
const SANDBOX_CURRENCY = "USD";
const MONTHS = Array.from({ length: 12 }, (_, index) => index + 1);

const never = (): (() => void) => () => undefined;

/** False while the server's markup stands: what only the browser knows (its zones and names) comes after it. */
function useIsBrowser(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}

function currencyLabel(code: string, locale: string): string {
  return `${code} · ${new Intl.DisplayNames(locale, { type: "currency" }).of(code) ?? code}`;
}

function monthLabel(month: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, { month: "long", timeZone: "UTC" }).format(Date.UTC(2026, month - 1, 1));
}

interface FormProps {
  readonly hasSandbox: boolean;
  readonly onFounded: (founded: { readonly withSandbox: boolean }) => void;
}

interface ZoneSelectProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (zone: string) => void;
}

function ZoneSelect({ value, onChange, ...attributes }: ZoneSelectProps): ReactElement {
  const isBrowser = useIsBrowser();
  const zones = isBrowser ? [...new Set([value, "UTC", ...Intl.supportedValuesOf("timeZone")])].sort() : [value];
  return (
    <Select {...attributes} value={value} onChange={(event) => onChange(event.target.value)}>
      {zones.map((zone) => (
        <option key={zone} value={zone}>
          {zone.replaceAll("_", " ")}
        </option>
      ))}
    </Select>
  );
}

/** Name, currency, time zone and fiscal year of the first organisation. Currency and zone cannot be changed later. */
export function FoundingForm({ hasSandbox, onFounded }: FormProps): ReactElement {
  const t = useTranslations("welcome");
  const locale = useLocale();
  const isBrowser = useIsBrowser();
  const errorText = useErrorText();
  const fieldText = useFieldText();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [name, setName] = useState("");
  const [appName, setAppName] = useState<string>(t("appDefault"));
  const [currency, setCurrency] = useState("USD");
  const [chosenZone, setChosenZone] = useState<string | null>(null);
  const [month, setMonth] = useState(1);
  const [sandbox, setSandbox] = useState(true);
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({});
  const timeZone = chosenZone ?? (isBrowser ? Intl.DateTimeFormat().resolvedOptions().timeZone : "UTC");
  const withSandbox = hasSandbox && sandbox && currency === SANDBOX_CURRENCY;
  const found = useMutation({
    mutationFn: (body: FirstOrganisationInput) =>
      writeConsole("/api/console/organisation", { method: "POST", body, schema: organisationFounded, idempotencyKey }),
    onSuccess: (_, body) => onFounded({ withSandbox: body.withSandbox }),
    onError: (error) => {
      // Somebody was first, perhaps this very form in another tab: the page knows what holds now.
      if (error instanceof ConsoleRequestError && error.code === "conflict") window.location.reload();
      else if (error instanceof ConsoleRequestError) setFields(error.fields);
    },
  });

  function submit(event: SyntheticEvent<HTMLFormElement>): void {
    event.preventDefault();
    const draft = { name, currency, timeZone, fiscalYearStartMonth: month, locale, appName, withSandbox };
    const parsed = firstOrganisationInput.safeParse(draft);
    if (parsed.success) {
      setFields({});
      found.mutate(parsed.data);
    } else setFields(Object.fromEntries(parsed.error.issues.map((issue) => [issue.path.join("."), issue.message])));
  }

  return (
    <form noValidate className="grid gap-4" onSubmit={submit}>
      {found.error === null ? null : (
        <Notice tone="danger" role="alert">
          {errorText(found.error)}
        </Notice>
      )}
      <Field label={t("name")} error={fieldText(fields["name"])}>
        {(attributes) => (
          <Input
            {...attributes}
            autoComplete="organization"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label={t("currency")} hint={t("currencyHint")} error={fieldText(fields["currency"])}>
        {(attributes) => (
          <Select {...attributes} value={currency} onChange={(event) => setCurrency(event.target.value)}>
            {CURRENCIES.map((code) => (
              <option key={code} value={code}>
                {isBrowser ? currencyLabel(code, locale) : code}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("timeZone")} hint={t("timeZoneHint")} error={fieldText(fields["timeZone"])}>
        {(attributes) => <ZoneSelect {...attributes} value={timeZone} onChange={setChosenZone} />}
      </Field>
      <Field label={t("fiscalYear")} error={fieldText(fields["fiscalYearStartMonth"])}>
        {(attributes) => (
          <Select {...attributes} value={month} onChange={(event) => setMonth(Number(event.target.value))}>
            {MONTHS.map((one) => (
              <option key={one} value={one}>
                {monthLabel(one, locale)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("app")} hint={t("appHint")} error={fieldText(fields["appName"])}>
        {(attributes) => <Input {...attributes} value={appName} onChange={(event) => setAppName(event.target.value)} />}
      </Field>
      {hasSandbox ? (
        <Choice
          type="checkbox"
          label={t("sandbox")}
          hint={t(currency === SANDBOX_CURRENCY ? "sandboxHint" : "sandboxCurrency")}
          checked={withSandbox}
          disabled={currency !== SANDBOX_CURRENCY}
          onChange={(event) => setSandbox(event.target.checked)}
        />
      ) : null}
      <Button type="submit" variant="primary" disabled={found.isPending} className="h-10">
        {t(found.isPending ? "founding" : "found")}
      </Button>
    </form>
  );
}
