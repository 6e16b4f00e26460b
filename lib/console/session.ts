/** From the cookie to the Principal. Every page and every route handler starts here; layouts never decide. */
import "server-only";
import { getServerSession } from "next-auth";
import { notFound, redirect } from "next/navigation";
import { cache } from "react";
import { listOrganisations } from "@/lib/db/console-consumers";
import { findUser, listMembershipsOfUser } from "@/lib/db/users";
import type { Action } from "@/lib/domain/role";
import { getConsoleServices } from "@/lib/wiring/console";
import { authOptions } from "./auth";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";

/** The signed-in person, or null. Read once a request. */
export const currentPrincipal = cache(async (): Promise<ConsolePrincipal | null> => {
  const session = await getServerSession(authOptions());
  if (session?.userId === undefined) return null;
  const { db } = getConsoleServices();
  const user = await findUser(db.prisma, session.userId);
  if (user === null || user.disabledAt !== null || user.sessionVersion !== session.sessionVersion) return null;
  const memberships = await listMembershipsOfUser(db.prisma, user.id);
  const organisations = await listOrganisations(db.pool, [...new Set(memberships.map((one) => one.organisationId))]);
  // People of one company see that company; the choice between several comes with the organisation switcher.
  const organisation = organisations[0];
  if (organisation === undefined) return null;
  return {
    principal: {
      userId: user.id,
      label: `${user.name} <${user.email}>`,
      memberships: memberships.map(({ organisationId, consumerId, role }) => ({ organisationId, consumerId, role })),
    },
    organisation,
    user: { id: user.id, name: user.name, email: user.email },
  };
});

/** For pages: signed out goes to sign-in; what is forbidden looks like what does not exist. */
export async function requirePermission(action: Action, path?: readonly string[]): Promise<ConsolePrincipal> {
  const who = await currentPrincipal();
  if (who === null) redirect("/sign-in");
  if (!isPermitted(who, action, path)) notFound();
  return who;
}
