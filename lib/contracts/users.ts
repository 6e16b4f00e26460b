/** People and their roles. */
import { z } from "zod";
import { ROLES } from "@/lib/domain/role";
import { idText } from "./common";

export const createUserInput = z.strictObject({
  email: z
    .string()
    .trim()
    .toLowerCase()
    .max(254)
    .regex(/^[^\s@]+@[^\s@]+$/u, "email_malformed"),
  name: z.string().trim().min(1, "required").max(80, "too_long"),
  locale: z.enum(["en", "zh-CN"]).nullable().default(null),
  /** null: signs in through the company's identity provider only. */
  password: z.string().min(12, "password_short").max(256, "too_long").nullable().default(null),
  role: z.enum(ROLES),
  /** Node at which the role holds. */
  consumerId: idText,
});
export type CreateUserInput = z.input<typeof createUserInput>;
