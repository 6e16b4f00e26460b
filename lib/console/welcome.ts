/** What the welcome page needs to know: may this person found the first organisation, and is there a sandbox to try. */
import "server-only";
import { redirect } from "next/navigation";
import { webEnv } from "@/lib/config/env";
import { countOrganisations } from "@/lib/db/organisations";
import { getConsoleServices } from "@/lib/wiring/console";
import { currentPerson, currentPrincipal } from "./session";
import type { Person } from "./session";

/** Address of the stand-in provider; undefined where this installation has none. */
export function sandboxUrl(): string | undefined {
  return webEnv().SANDBOX_URL;
}

export interface WelcomeView {
  readonly user: Person["user"];
  /** False where organisations exist: then only their owners can let this person in. */
  readonly canFound: boolean;
  readonly hasSandbox: boolean;
}

/** For the page: who is signed out goes to sign-in, who has an organisation to the overview. */
export async function requireNewcomer(): Promise<WelcomeView> {
  const person = await currentPerson();
  if (person === null) redirect("/sign-in");
  if ((await currentPrincipal()) !== null) redirect("/overview");
  const { db } = getConsoleServices();
  const canFound = (await countOrganisations(db.prisma)) === 0;
  return { user: person.user, canFound, hasSandbox: sandboxUrl() !== undefined };
}
