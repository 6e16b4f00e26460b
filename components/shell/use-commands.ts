"use client";
/** What the palette can do: pages, acts, and the keys, budgets and requests that fit what was typed. */
import { useQuery } from "@tanstack/react-query";
import { KeyRound, Languages, Moon, ScrollText, Sun, Wallet } from "lucide-react";
import type { LucideIcon } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useTheme } from "next-themes";
import { useRouter } from "next/navigation";
import { readConsole } from "@/components/query/console-fetch";
import { queryKeys } from "@/components/query/keys";
import { useDebounced } from "@/components/query/use-debounced";
import { budgetTree } from "@/lib/contracts/budgets";
import { apiKeyList } from "@/lib/contracts/keys";
import { matching } from "./command-match";
import { PAGES } from "./navigation";
import type { PagePath } from "./navigation";
import { useLanguage } from "./preferences";

export interface Command {
  readonly id: string;
  readonly group: "pages" | "acts" | "keys" | "budgets" | "requests";
  readonly label: string;
  readonly words?: string;
  readonly note?: string;
  readonly Icon: LucideIcon;
  readonly run: () => void;
}

const MIN_SEARCH = 2;
const SHOWN_OF_KIND = 6;
const REQUEST_ID = /^[a-z]{2,5}_[a-z0-9]{10,40}$/iu;

function usePages(allowed: readonly PagePath[]): readonly Command[] {
  const t = useTranslations("nav");
  const router = useRouter();
  return PAGES.filter((page) => allowed.includes(page.href)).map(({ href, label, Icon }) => ({
    id: href,
    group: "pages",
    label: t(label),
    words: href,
    Icon,
    run: () => router.push(href),
  }));
}

function useActs(allowed: readonly PagePath[]): readonly Command[] {
  const t = useTranslations("palette");
  const router = useRouter();
  const { setTheme, resolvedTheme } = useTheme();
  const { other, otherName, choose } = useLanguage();
  const isDark = resolvedTheme === "dark";
  const act = (id: string, label: string, Icon: LucideIcon, run: () => void): Command => ({
    ...{ id, label, Icon, run },
    group: "acts",
  });
  return [
    ...(allowed.includes("/keys")
      ? [act("createKey", t("createKey"), KeyRound, () => router.push("/keys?create=true"))]
      : []),
    ...(allowed.includes("/requests")
      ? [act("refusals", t("refusals"), ScrollText, () => router.push("/requests?decision=refused"))]
      : []),
    act("theme", t(isDark ? "light" : "dark"), isDark ? Sun : Moon, () => setTheme(isDark ? "light" : "dark")),
    act("language", t("language", { name: otherName }), Languages, () => choose(other)),
  ];
}

function useFoundKeys(text: string, isAllowed: boolean): readonly Command[] {
  const locale = useLocale();
  const router = useRouter();
  const filter = { q: text, state: "all" as const };
  const { data } = useQuery({
    queryKey: ["palette", "keys", locale, text],
    enabled: isAllowed && text.length >= MIN_SEARCH,
    queryFn: ({ signal }) =>
      readConsole(`/api/console/keys?${new URLSearchParams(filter).toString()}`, apiKeyList, signal),
  });
  return (data?.keys ?? []).slice(0, SHOWN_OF_KIND).map(({ id, name, appName }) => ({
    id,
    group: "keys",
    label: name,
    note: appName,
    Icon: KeyRound,
    run: () => router.push(`/keys?${new URLSearchParams({ q: name }).toString()}`),
  }));
}

function useFoundBudgets(text: string, isAllowed: boolean): readonly Command[] {
  const b = useTranslations("budgets");
  const router = useRouter();
  const { data } = useQuery({
    queryKey: queryKeys.budgets,
    enabled: isAllowed && text.length >= MIN_SEARCH,
    queryFn: ({ signal }) => readConsole("/api/console/budgets", budgetTree, signal),
    staleTime: 30_000,
  });
  const nodes = (data?.nodes ?? []).map((node) => ({ label: node.name, words: node.costCentre ?? "", node }));
  return matching(nodes, text)
    .slice(0, SHOWN_OF_KIND)
    .map(({ label, node }) => ({
      id: node.id,
      group: "budgets",
      label,
      note: b(`kinds.${node.kind}`),
      Icon: Wallet,
      run: () => router.push(`/budgets#${node.id}`),
    }));
}

/** The commands for what was typed, in the order in which they are shown. What a person may not see is not among them. */
export function useCommands(allowed: readonly PagePath[], typed: string): readonly Command[] {
  const t = useTranslations("palette");
  const router = useRouter();
  const text = useDebounced(typed.trim());
  const own = [...usePages(allowed), ...useActs(allowed)];
  const keys = useFoundKeys(text, allowed.includes("/keys"));
  const budgets = useFoundBudgets(text, allowed.includes("/budgets"));
  const requestId = typed.trim();
  const request: Command = {
    id: "request",
    group: "requests",
    label: t("openRequest", { id: requestId }),
    Icon: ScrollText,
    run: () => router.push(`/requests/${requestId}`),
  };
  return [
    ...(allowed.includes("/requests") && REQUEST_ID.test(requestId) ? [request] : []),
    ...matching(own, typed),
    ...(typed.trim().length < MIN_SEARCH ? [] : [...keys, ...budgets]),
  ];
}
