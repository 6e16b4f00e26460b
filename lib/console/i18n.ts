/** Which language a request is answered in, and its messages: the cookie, then Accept-Language, then English. */
import { getRequestConfig } from "next-intl/server";
import { cookies, headers } from "next/headers";
import { LOCALE_COOKIE } from "@/lib/contracts/session";
import type { Locale } from "@/lib/contracts/session";
import type messages from "@/messages/en.json";
import { chooseLocale } from "./locale";

declare module "next-intl" {
  interface AppConfig {
    Locale: Locale;
    Messages: typeof messages;
  }
}

async function messagesOf(locale: Locale): Promise<typeof messages> {
  const loaded = locale === "zh-CN" ? await import("@/messages/zh-CN.json") : await import("@/messages/en.json");
  return loaded.default;
}

export default getRequestConfig(async () => {
  const locale = chooseLocale((await cookies()).get(LOCALE_COOKIE)?.value, (await headers()).get("accept-language"));
  // Times are formatted in the organisation's zone by components/format; this zone is only the library's default.
  return { locale, messages: await messagesOf(locale), timeZone: "UTC" };
});
