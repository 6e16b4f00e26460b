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
        return Object.keys(error.fields).length > 0 ? t("fields") : t("conflict");
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

/** Text of a field's error code; what has none (the server's English texts) gets a general sentence. */
export function useFieldText(): (code: string | undefined) => string | undefined {
  const t = useTranslations("fieldErrors");
  return (code) => {
    if (code === undefined) return undefined;
    return /^[a-z_]+$/u.test(code) && t.has(code as "required") ? t(code as "required") : t("invalid");
  };
}

/** What a failed write says of each field. A conflict names the field whose value somebody else has. */
export function fieldErrorsOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ConsoleRequestError)) return {};
  if (error.code !== "conflict") return error.fields;
  return Object.fromEntries(Object.keys(error.fields).map((field) => [field, "taken"]));
}
