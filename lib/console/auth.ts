/**
 * Sign-in by mail and password. The session is a signed cookie that carries the user's id and session version only:
 * what the person may do is read from Postgres with every request, so a change of roles bites at once.
 */
import "server-only";
import { verify } from "@node-rs/argon2";
import type { NextAuthOptions } from "next-auth";
import CredentialsProvider from "next-auth/providers/credentials";
import { webEnv } from "@/lib/config/env";
import { signInInput } from "@/lib/contracts/session";
import { findUserForSignIn } from "@/lib/db/users";
import { getConsoleServices } from "@/lib/wiring/console";

const SESSION_SECONDS = 12 * 3600;
/** argon2id hash of a random text that nobody knows: unknown addresses must cost as much time as known ones. */
const NOBODYS_HASH =
  "$argon2id$v=19$m=19456,t=2,p=1$+pKUz8pKccnIWpvZQG4IfQ$qxJLeheDSCkqJVkHBKZaF440XmqZyMi0P2Goo4mKpAY";

declare module "next-auth/jwt" {
  interface JWT {
    userId?: string;
    sessionVersion?: number;
  }
}
declare module "next-auth" {
  interface User {
    sessionVersion: number;
  }
  interface Session {
    userId?: string;
    sessionVersion?: number;
  }
}

/** The last hop that a trusted host added; callers can only add in front of it. */
function addressOf(headers: Record<string, unknown> | undefined): string {
  const forwarded = headers?.["x-forwarded-for"];
  return (typeof forwarded === "string" ? forwarded.split(",").at(-1)?.trim() : undefined) ?? "unknown";
}

async function passwordMatches(hash: string, password: string): Promise<boolean> {
  try {
    return await verify(hash, password);
  } catch {
    return false;
  }
}

/** The user for these credentials, or null; which of the two was wrong is told to nobody. */
export async function authorize(
  credentials: unknown,
  headers: Record<string, unknown> | undefined,
): Promise<{ id: string; sessionVersion: number } | null> {
  const parsed = signInInput.safeParse(credentials);
  if (!parsed.success) return null;
  const { db, signInAttempts } = getConsoleServices();
  const attempt = { email: parsed.data.email, address: addressOf(headers) };
  if (!(await signInAttempts.mayTry(attempt))) return null;
  const user = await findUserForSignIn(db.prisma, parsed.data.email);
  const matches = await passwordMatches(user?.passwordHash ?? NOBODYS_HASH, parsed.data.password);
  if (user === null || user.passwordHash === null || user.disabledAt !== null || !matches) {
    await signInAttempts.failed(attempt);
    return null;
  }
  await signInAttempts.succeeded(attempt);
  return { id: user.id, sessionVersion: user.sessionVersion };
}

export function authOptions(): NextAuthOptions {
  return {
    secret: webEnv().NEXTAUTH_SECRET,
    session: { strategy: "jwt", maxAge: SESSION_SECONDS, updateAge: 900 },
    pages: { signIn: "/sign-in", error: "/sign-in" },
    providers: [
      CredentialsProvider({
        credentials: { email: {}, password: {} },
        authorize: (credentials, request) => authorize(credentials, request.headers),
      }),
    ],
    callbacks: {
      // Nothing but these two leaves the server: no name, no mail, no roles.
      jwt: ({ token, user }) => {
        const from = user as typeof user | undefined;
        const userId = from?.id ?? token.userId;
        const sessionVersion = from?.sessionVersion ?? token.sessionVersion;
        return {
          ...(userId === undefined ? {} : { userId }),
          ...(sessionVersion === undefined ? {} : { sessionVersion }),
        };
      },
      session: ({ token, session }) => ({
        expires: session.expires,
        ...(token.userId === undefined ? {} : { userId: token.userId }),
        ...(token.sessionVersion === undefined ? {} : { sessionVersion: token.sessionVersion }),
      }),
    },
  };
}
