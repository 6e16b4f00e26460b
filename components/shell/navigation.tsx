"use client";
import { Gauge, KeyRound, ScrollText, Waves } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactElement } from "react";
import { cn } from "@/components/ui/cn";

const PAGES = [
  { href: "/overview", label: "overview", Icon: Waves },
  { href: "/budgets", label: "budgets", Icon: Gauge },
  { href: "/keys", label: "keys", Icon: KeyRound },
  { href: "/requests", label: "requests", Icon: ScrollText },
] as const;
export type PagePath = (typeof PAGES)[number]["href"];

interface NavigationProps {
  /** Pages that the signed-in person may read. */
  readonly allowed: readonly PagePath[];
  readonly placement: "side" | "bottom";
}

export function Navigation({ allowed, placement }: NavigationProps): ReactElement {
  const t = useTranslations("nav");
  const pathname = usePathname();
  const pages = PAGES.filter((page) => allowed.includes(page.href));
  return (
    <nav aria-label={placement === "side" ? t("label") : t("labelBottom")}>
      <ul className={placement === "side" ? "grid gap-0.5" : "flex"}>
        {pages.map(({ href, label, Icon }) => {
          const current = pathname === href || pathname.startsWith(`${href}/`);
          return (
            <li key={href} className={placement === "side" ? "" : "flex-1"}>
              <Link
                href={href}
                {...(current ? { "aria-current": "page" as const } : {})}
                className={cn(
                  "flex items-center rounded-md transition-colors",
                  placement === "side"
                    ? "h-9 gap-2.5 px-2.5 text-sm"
                    : "h-14 flex-col justify-center gap-1 text-[0.6875rem]",
                  current ? "font-semibold text-brand-strong" : "text-soft hover:text-ink",
                  placement === "side" && (current ? "bg-brand-soft" : "hover:bg-sunken"),
                )}
              >
                <Icon aria-hidden className={placement === "side" ? "size-[1.125rem]" : "size-5"} strokeWidth={1.9} />
                {t(label)}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
