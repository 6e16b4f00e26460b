/** The choice of language, apart from where its inputs come from. */
import { DEFAULT_LOCALE, LOCALES } from "@/lib/contracts/session";
import type { Locale } from "@/lib/contracts/session";

const MAX_HEADER_LENGTH = 200;

/** `cookie` wins when it names a language we have; then the highest-ranked match of Accept-Language; then English. */
export function chooseLocale(cookie: string | undefined, acceptLanguage: string | null): Locale {
  const chosen = LOCALES.find((locale) => locale === cookie);
  if (chosen !== undefined) return chosen;
  const wishes = (acceptLanguage ?? "")
    .slice(0, MAX_HEADER_LENGTH)
    .split(",")
    .map((part, index) => {
      const [tag = "", ...parameters] = part.trim().split(";");
      const weight = parameters.map((text) => /^\s*q=([01](?:\.\d{1,3})?)\s*$/u.exec(text)?.[1]).find(Boolean) ?? "1";
      return { language: tag.toLowerCase().split("-")[0] ?? "", weight: Number(weight), index };
    })
    .filter((wish) => wish.weight > 0)
    .sort((a, b) => b.weight - a.weight || a.index - b.index);
  for (const wish of wishes) {
    const match = LOCALES.find((locale) => locale.toLowerCase().split("-")[0] === wish.language);
    if (match !== undefined) return match;
  }
  return DEFAULT_LOCALE;
}
