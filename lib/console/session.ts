/** From the cookie to the Principal. Every page and every route handler starts here; layouts never decide. */
import "server-only";
import { getServerSession } from "next-auth";
import { notFound, redirect } from "next/navigation";
import { cache } from "react";
import { listOrganisations } from "@/lib/db/console-consumers";
import { findUser, listMembershipsOfUser } from "@/lib/db/users";
import type { Action, Principal } from "@/lib/domain/role";
import { getConsoleServices } from "@/lib/wiring/console";
import { authOptions } from "./auth";
import { isPermitted } from "./principal";
import type { ConsolePrincipal } from "./principal";

/** Somebody who has signed in, whether or not they belong to an organisation. */
export interface Person {
  readonly principal: Principal;
  readonly user: ConsolePrincipal["user"];
}

/** The signed-in person, or null. Read once a request. */
export const currentPerson = cache(async (): Promise<Person | null> => {
  const session = await getServerSession(authOptions());
  if (session?.userId === undefined) return null;
  const { db } = getConsoleServices();
  const user = await findUser(db.prisma, session.userId);
  if (user === null || user.disabledAt !== null || user.sessionVersion !== session.sessionVersion) return null;
  const memberships = await listMembershipsOfUser(db.prisma, user.id);
  return {
    principal: {
      userId: user.id,
      label: `${user.name} <${user.email}>`,
      memberships: memberships.map(({ organisationId, consumerId, role }) => ({ organisationId, consumerId, role })),
    },
    user: { id: user.id, name: user.name, email: user.email },
  };
});

/** The person at work in an organisation; null when signed out or without one. Read once a request. */
export const currentPrincipal = cache(async (): Promise<ConsolePrincipal | null> => {
  const person = await currentPerson();
  if (person === null) return null;
  const ids = new Set(person.principal.memberships.map((one) => one.organisationId));
  // People of one company see that company; the choice between several comes with the organisation switcher.
  const [organisation] = await listOrganisations(getConsoleServices().db.pool, [...ids]);
  return organisation === undefined ? null : { ...person, organisation };
});

/** For pages: signed out goes to sign-in, without an organisation to the welcome page; forbidden looks like missing. */
export async function requirePermission(action: Action, path?: readonly string[]): Promise<ConsolePrincipal> {
  const who = await currentPrincipal();
  if (who === null) redirect((await currentPerson()) === null ? "/sign-in" : "/welcome");
  if (!isPermitted(who, action, path)) notFound();
  return who;
}
