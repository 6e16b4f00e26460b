/** Sign-in and what a signed-in person may know about the own session. */
import { z } from "zod";

export const LOCALES = ["en", "zh-CN"] as const;
export type Locale = (typeof LOCALES)[number];
export const DEFAULT_LOCALE: Locale = "en";
export const LOCALE_COOKIE = "spillway-locale";

export const signInInput = z.object({
  email: z
    .string()
    .trim()
    .toLowerCase()
    .min(3, "required")
    .max(254)
    .regex(/^[^\s@]+@[^\s@]+$/u, "email_malformed"),
  password: z.string().min(1, "required").max(256),
});

/** For the shell: who is signed in, where, and which pages to offer. */
export const sessionView = z.object({
  userName: z.string(),
  email: z.string(),
  organisation: z.object({
    id: z.string(),
    name: z.string(),
    currency: z.string(),
    timeZone: z.string(),
    isSample: z.boolean(),
  }),
  roles: z.array(z.string()),
});
export type SessionView = z.infer<typeof sessionView>;

/** Removing the sample company names nothing: there is one. */
export const removeSampleInput = z.strictObject({});

/** Answer of removing the sample company. */
export const sampleRemoved = z.object({ organisationIds: z.array(z.string()) });
