/** What the frame around every page shows: who is signed in, where, and which pages to offer. Decides nothing. */
import "server-only";
import type { SessionView } from "@/lib/contracts/session";
import type { Action } from "@/lib/domain/role";
import { getConsoleServices } from "@/lib/wiring/console";
import { isPermitted, toSessionView } from "./principal";
import { currentPrincipal } from "./session";

const PAGE_ACTIONS = {
  "/overview": "usage.read",
  "/budgets": "budget.read",
  "/keys": "key.read",
  "/requests": "request.read",
  "/deferred": "request.read",
  "/policies": "policy.read",
  "/providers": "model.read",
  "/prices": "price.read",
  "/token-issuers": "organisation.update",
  "/webhooks": "organisation.update",
} as const satisfies Readonly<Record<string, Action>>;
type PagePath = keyof typeof PAGE_ACTIONS;
const PAGES = Object.keys(PAGE_ACTIONS) as PagePath[];

export interface ShellView {
  readonly session: SessionView | null;
  readonly allowed: readonly PagePath[];
  readonly nowMs: number;
}

export async function readShell(): Promise<ShellView> {
  const nowMs = getConsoleServices().clock.nowMs();
  const who = await currentPrincipal();
  if (who === null) return { session: null, allowed: [], nowMs };
  return { session: toSessionView(who), allowed: PAGES.filter((page) => isPermitted(who, PAGE_ACTIONS[page])), nowMs };
}
