import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactElement, ReactNode } from "react";
import { Badge } from "@/components/ui/badge";
import type { SessionView } from "@/lib/contracts/session";
import { zoneText } from "@/components/format/time";
import { AccountMenu } from "./account-menu";
import { CommandPalette } from "./command-palette";
import { Mark } from "./mark";
import { Navigation } from "./navigation";
import type { PagePath } from "./navigation";
import { LanguageMenu, ThemeMenu } from "./preferences";

interface ShellProps {
  /** null while signed out: pages decide about access, the shell only shows what it is given. */
  readonly session: SessionView | null;
  readonly allowed: readonly PagePath[];
  readonly nowMs: number;
  readonly children: ReactNode;
}

function Brand(): ReactElement {
  return (
    <Link href="/overview" className="flex items-center gap-2.5 rounded-md">
      <Mark className="size-7" />
      <span className="text-[1.0625rem] font-semibold tracking-[-0.02em]">{"Spillway"}</span>
    </Link>
  );
}

function TopBar({ session, allowed, nowMs }: Omit<ShellProps, "children">): ReactElement {
  const t = useTranslations("shell");
  return (
    <header className="sticky top-0 z-30 flex h-14 items-center gap-2 border-b bg-ground/95 px-4 backdrop-blur-sm sm:px-6 lg:px-8">
      <div className="lg:hidden">
        <Mark className="size-7" />
      </div>
      {session === null ? null : (
        <div className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium">{session.organisation.name}</span>
          {session.organisation.isSample ? (
            <Badge tone="brand" className="max-sm:hidden">
              {t("sample")}
            </Badge>
          ) : null}
        </div>
      )}
      <div className="ml-auto flex items-center gap-0.5">
        {session === null ? null : (
          <span className="mr-2 hidden text-xs text-soft md:block" title={t("zoneHint")}>
            {session.organisation.currency} · {zoneText(nowMs, session.organisation.timeZone)}
          </span>
        )}
        {session === null ? null : <CommandPalette allowed={allowed} />}
        <LanguageMenu />
        <ThemeMenu />
        {session === null ? null : <AccountMenu session={session} />}
      </div>
    </header>
  );
}

export function ConsoleShell({ session, allowed, nowMs, children }: ShellProps): ReactElement {
  const t = useTranslations("shell");
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14.5rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-brand px-4 py-2 font-medium max-md:py-3 text-on-brand focus:translate-y-0"
      >
        {t("skip")}
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r bg-surface px-3 py-4 lg:flex">
        <div className="px-2 pb-6">
          <Brand />
        </div>
        <Navigation allowed={allowed} placement="side" />
        <svg
          aria-hidden
          viewBox="0 0 200 90"
          preserveAspectRatio="none"
          className="pointer-events-none absolute inset-x-0 bottom-0 h-28 w-full text-brand opacity-[0.13]"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
        >
          <path d="M0 14h60c44 0 42 44 140 44" />
          <path d="M0 30h46c42 0 42 42 154 42" opacity=".7" />
          <path d="M0 46h32c40 0 42 40 168 40" opacity=".45" />
        </svg>
      </aside>
      <div className="min-w-0 pb-20 lg:pb-10">
        <TopBar session={session} allowed={allowed} nowMs={nowMs} />
        <main id="main" tabIndex={-1} className="mx-auto w-full max-w-[84rem] px-4 py-5 outline-none sm:px-6 lg:px-8">
          {children}
        </main>
      </div>
      <div className="fixed inset-x-0 bottom-0 z-30 border-t bg-surface pb-[env(safe-area-inset-bottom)] lg:hidden">
        <Navigation allowed={allowed} placement="bottom" />
      </div>
    </div>
  );
}
