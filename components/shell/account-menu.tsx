"use client";
import { LogOut } from "lucide-react";
import { signOut } from "next-auth/react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { Menu, MenuContent, MenuItem, MenuLabel, MenuSeparator, MenuTrigger } from "@/components/ui/menu";
import type { SessionView } from "@/lib/contracts/session";

/** First letters of the first two words, or the first two characters of a name written without spaces. */
function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/u);
  const letters = words.length > 1 ? words.slice(0, 2).map((word) => [...word][0] ?? "") : [...name.trim()].slice(0, 2);
  return letters.join("").toUpperCase();
}

export function AccountMenu({ session }: { readonly session: SessionView }): ReactElement {
  const t = useTranslations("shell");
  const roles = session.roles.flatMap((role) =>
    t.has(`roles.${role as "owner"}`) ? [t(`roles.${role as "owner"}`)] : [],
  );
  return (
    <Menu>
      <MenuTrigger asChild>
        <Button variant="ghost" size="icon">
          <span
            aria-hidden
            className="grid size-7 place-items-center rounded-full bg-brand-soft text-[0.6875rem] font-semibold text-brand-strong"
          >
            {initialsOf(session.userName)}
          </span>
          <span className="sr-only">{t("account", { name: session.userName })}</span>
        </Button>
      </MenuTrigger>
      <MenuContent className="max-w-72">
        <MenuLabel>
          <span className="block truncate text-sm font-medium text-ink">{session.userName}</span>
          <span className="block truncate">{session.email}</span>
          {roles.length === 0 ? null : <span className="mt-1 block">{roles.join(" · ")}</span>}
        </MenuLabel>
        <MenuSeparator />
        <MenuItem onSelect={() => void signOut({ callbackUrl: "/sign-in" })}>
          <LogOut aria-hidden /> {t("signOut")}
        </MenuItem>
      </MenuContent>
    </Menu>
  );
}
