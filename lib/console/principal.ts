/** A signed-in person at work in one organisation, and what that person may do. */
import type { SessionView } from "@/lib/contracts/session";
import type { OrganisationRow } from "@/lib/db/console-consumers";
import { may, nodesWhere } from "@/lib/domain/role";
import type { Action, Principal } from "@/lib/domain/role";

export interface ConsolePrincipal {
  readonly principal: Principal;
  readonly organisation: OrganisationRow;
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
}

/** Whether the person may do this at the node (root first), or anywhere in the organisation when no node is named. */
export function isPermitted(who: ConsolePrincipal, action: Action, path?: readonly string[]): boolean {
  const organisationId = who.organisation.id;
  if (path !== undefined) return may(who.principal, action, { organisationId, path });
  return nodesWhere(who.principal, action, organisationId).length > 0;
}

/** For the shell. */
export function toSessionView(who: ConsolePrincipal): SessionView {
  const { id, name, currency, timeZone, isSample } = who.organisation;
  const roles = who.principal.memberships.filter((one) => one.organisationId === id).map((one) => one.role);
  return {
    userName: who.user.name,
    email: who.user.email,
    organisation: { id, name, currency, timeZone, isSample },
    roles: [...new Set(roles)],
  };
}
