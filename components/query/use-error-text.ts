"use client";
import { useTranslations } from "next-intl";
import { ConsoleRequestError } from "./console-fetch";

/** The sentence to show for a failed write, in the reader's language. */
export function useErrorText(): (error: unknown) => string {
  const t = useTranslations("errors");
  return (error) => {
    if (!(error instanceof ConsoleRequestError)) return t("internal");
    switch (error.code) {
      case "offline":
        return t("offline");
      case "invalid_request":
        return Object.keys(error.fields).length > 0 ? t("fields") : t("invalid");
      case "conflict":
        return t("conflict");
      case "not_found":
      case "forbidden":
        return t("notFound");
      case "unauthenticated":
        return t("signedOut");
      default:
        return t("internal");
    }
  };
}

const FIELD_CODES = [
  "required",
  "too_long",
  "amount_malformed",
  "amount_out_of_range",
  "amount_not_positive",
  "reason_short",
  "ip_malformed",
  "in_the_past",
  "needs_lead",
  "email_malformed",
  "name_mismatch",
  "name_taken",
] as const;

/** Text of a field's error code; unknown codes (the server's English texts) get a general sentence. */
export function useFieldText(): (code: string | undefined) => string | undefined {
  const t = useTranslations("fieldErrors");
  return (code) => {
    if (code === undefined) return undefined;
    const known = FIELD_CODES.find((entry) => entry === code);
    return known === undefined ? t("invalid") : t(known);
  };
}
