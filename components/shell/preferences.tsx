"use client";
import { Languages, Monitor, Moon, Sun } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useTheme } from "next-themes";
import { useRouter } from "next/navigation";
import type { ReactElement } from "react";
import { LOCALE_COOKIE, LOCALES } from "@/lib/contracts/session";
import type { Locale } from "@/lib/contracts/session";
import { Button } from "@/components/ui/button";
import { Menu, MenuContent, MenuRadioGroup, MenuRadioItem, MenuTrigger } from "@/components/ui/menu";

const ONE_YEAR_SECONDS = 31_536_000;
/** Each language is named in itself, so that its reader can find it. */
const NAMES = { en: "English", "zh-CN": "简体中文" } as const;

function remember(locale: string): void {
  const secure = window.location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${LOCALE_COOKIE}=${locale}; path=/; max-age=${ONE_YEAR_SECONDS}; samesite=lax${secure}`;
}

/** The language in use, the other one, and the change from one to the other. */
export function useLanguage(): {
  readonly locale: Locale;
  readonly other: Locale;
  readonly otherName: string;
  readonly choose: (locale: string) => void;
} {
  const locale = useLocale();
  const router = useRouter();
  const other = LOCALES.find((one) => one !== locale) ?? locale;
  const choose = (value: string): void => {
    remember(value);
    router.refresh();
  };
  return { locale, other, otherName: NAMES[other], choose };
}

export function LanguageMenu(): ReactElement {
  const t = useTranslations("shell");
  const { locale, choose } = useLanguage();
  return (
    <Menu>
      <MenuTrigger asChild>
        <Button variant="ghost" size="icon" aria-label={t("language")}>
          <Languages aria-hidden />
        </Button>
      </MenuTrigger>
      <MenuContent>
        <MenuRadioGroup value={locale} onValueChange={choose}>
          {LOCALES.map((entry) => (
            <MenuRadioItem key={entry} value={entry} lang={entry}>
              {NAMES[entry]}
            </MenuRadioItem>
          ))}
        </MenuRadioGroup>
      </MenuContent>
    </Menu>
  );
}

export function ThemeMenu(): ReactElement {
  const t = useTranslations("shell");
  const { theme, setTheme } = useTheme();
  return (
    <Menu>
      <MenuTrigger asChild>
        <Button variant="ghost" size="icon" aria-label={t("theme")}>
          <Sun aria-hidden className="dark:hidden" />
          <Moon aria-hidden className="hidden dark:block" />
        </Button>
      </MenuTrigger>
      <MenuContent>
        <MenuRadioGroup value={theme ?? "system"} onValueChange={setTheme}>
          <MenuRadioItem value="light">
            <Sun aria-hidden /> {t("themeLight")}
          </MenuRadioItem>
          <MenuRadioItem value="dark">
            <Moon aria-hidden /> {t("themeDark")}
          </MenuRadioItem>
          <MenuRadioItem value="system">
            <Monitor aria-hidden /> {t("themeSystem")}
          </MenuRadioItem>
        </MenuRadioGroup>
      </MenuContent>
    </Menu>
  );
}
