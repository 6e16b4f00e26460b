"use client";
import {
  Coins,
  Ellipsis,
  Gauge,
  Hourglass,
  IdCard,
  KeyRound,
  Route,
  ScrollText,
  SlidersHorizontal,
  Waves,
  Webhook,
} from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactElement } from "react";
import { cn } from "@/components/ui/cn";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/components/ui/menu";

/** Every day's pages first; on a phone the others are behind one button. */
export const PAGES = [
  { href: "/overview", label: "overview", Icon: Waves, isDaily: true },
  { href: "/budgets", label: "budgets", Icon: Gauge, isDaily: true },
  { href: "/keys", label: "keys", Icon: KeyRound, isDaily: true },
  { href: "/requests", label: "requests", Icon: ScrollText, isDaily: true },
  { href: "/deferred", label: "deferred", Icon: Hourglass, isDaily: false },
  { href: "/policies", label: "policies", Icon: SlidersHorizontal, isDaily: false },
  { href: "/providers", label: "providers", Icon: Route, isDaily: false },
  { href: "/prices", label: "prices", Icon: Coins, isDaily: false },
  { href: "/token-issuers", label: "tokenIssuers", Icon: IdCard, isDaily: false },
  { href: "/webhooks", label: "webhooks", Icon: Webhook, isDaily: false },
] as const;
type Page = (typeof PAGES)[number];
export type PagePath = Page["href"];

interface NavigationProps {
  /** Pages that the signed-in person may read. */
  readonly allowed: readonly PagePath[];
  readonly placement: "side" | "bottom";
}

const bottomItem = "flex h-14 w-full flex-col items-center justify-center gap-1 rounded-md text-[0.6875rem]";

function useIsCurrent(): (page: Page) => boolean {
  const pathname = usePathname();
  return ({ href }) => pathname === href || pathname.startsWith(`${href}/`);
}

function SideLink({ page }: { readonly page: Page }): ReactElement {
  const t = useTranslations("nav");
  const current = useIsCurrent()(page);
  const { href, label, Icon } = page;
  return (
    <Link
      href={href}
      {...(current ? { "aria-current": "page" as const } : {})}
      className={cn(
        "flex h-9 items-center gap-2.5 rounded-md px-2.5 text-sm transition-colors",
        current ? "bg-brand-soft font-semibold text-brand-strong" : "text-soft hover:bg-sunken hover:text-ink",
      )}
    >
      <Icon aria-hidden className="size-[1.125rem]" strokeWidth={1.9} />
      {t(label)}
    </Link>
  );
}

function BottomLink({ page }: { readonly page: Page }): ReactElement {
  const t = useTranslations("nav");
  const current = useIsCurrent()(page);
  const { href, label, Icon } = page;
  return (
    <Link
      href={href}
      {...(current ? { "aria-current": "page" as const } : {})}
      className={cn(bottomItem, current ? "font-semibold text-brand-strong" : "text-soft hover:text-ink")}
    >
      <Icon aria-hidden className="size-5" strokeWidth={1.9} />
      {t(label)}
    </Link>
  );
}

function More({ pages }: { readonly pages: readonly Page[] }): ReactElement {
  const t = useTranslations("nav");
  const isCurrent = useIsCurrent();
  return (
    <Menu>
      <MenuTrigger
        className={cn(
          bottomItem,
          pages.some(isCurrent) ? "font-semibold text-brand-strong" : "text-soft hover:text-ink",
        )}
      >
        <Ellipsis aria-hidden className="size-5" strokeWidth={1.9} />
        {t("more")}
      </MenuTrigger>
      <MenuContent side="top" className="min-w-56">
        {pages.map((page) => (
          <MenuItem key={page.href} asChild>
            <Link href={page.href} {...(isCurrent(page) ? { "aria-current": "page" as const } : {})}>
              <page.Icon aria-hidden /> {t(page.label)}
            </Link>
          </MenuItem>
        ))}
      </MenuContent>
    </Menu>
  );
}

export function Navigation({ allowed, placement }: NavigationProps): ReactElement {
  const t = useTranslations("nav");
  const pages = PAGES.filter((page) => allowed.includes(page.href));
  const daily = pages.filter((page) => page.isDaily);
  const others = pages.filter((page) => !page.isDaily);
  if (placement === "bottom") {
    return (
      <nav aria-label={t("labelBottom")}>
        <ul className="flex">
          {daily.map((page) => (
            <li key={page.href} className="min-w-0 flex-1">
              <BottomLink page={page} />
            </li>
          ))}
          {others.length === 0 ? null : (
            <li className="min-w-0 flex-1">
              <More pages={others} />
            </li>
          )}
        </ul>
      </nav>
    );
  }
  return (
    <nav aria-label={t("label")}>
      <ul className="grid gap-0.5">
        {daily.map((page) => (
          <li key={page.href}>
            <SideLink page={page} />
          </li>
        ))}
      </ul>
      {others.length === 0 ? null : (
        <>
          <p className="mt-5 mb-1 px-2.5 text-xs font-medium text-soft">{t("platform")}</p>
          <ul className="grid gap-0.5">
            {others.map((page) => (
              <li key={page.href}>
                <SideLink page={page} />
              </li>
            ))}
          </ul>
        </>
      )}
    </nav>
  );
}
