/** Organisations and the nodes of their tree. */
import { z } from "zod";
import { isTimeZone } from "@/lib/domain/period";
import { idText } from "./common";

const nameText = z.string().trim().min(1, "required").max(80, "too_long");

/** ISO 4217. */
export const currencyText = z.string().regex(/^[A-Z]{3}$/u, "currency_malformed");

export const createOrganisationInput = z.strictObject({
  /** Part of every API key; absent: made up. */
  id: z
    .string()
    .regex(/^[a-z0-9]{4,32}$/u, "id_malformed")
    .optional(),
  name: nameText,
  currency: currencyText,
  timeZone: z.string().refine(isTimeZone, "time_zone_unknown"),
  fiscalYearStartMonth: z.int().min(1).max(12).default(1),
  /** ISO weekday: 1 Monday, 7 Sunday. */
  weekStartsOn: z.union([z.literal(1), z.literal(7)]).default(1),
  locale: z.enum(["en", "zh-CN"]).default("en"),
  budgetRefusalStatus: z.union([z.literal(429), z.literal(402)]).default(429),
  isSample: z.boolean().default(false),
});
export type CreateOrganisationInput = z.input<typeof createOrganisationInput>;

/** What the founder of an installation's first organisation chooses; the rest has defaults that owners can change. */
export const firstOrganisationInput = z.strictObject({
  name: nameText,
  currency: currencyText,
  timeZone: z.string().refine(isTimeZone, "time_zone_unknown"),
  fiscalYearStartMonth: z.int().min(1).max(12),
  locale: z.enum(["en", "zh-CN"]),
  /** The app that holds the first API keys. */
  appName: nameText,
  /** Adds the stand-in provider and its models. Its prices are in USD, so only with that currency. */
  withSandbox: z.boolean(),
});
export type FirstOrganisationInput = z.infer<typeof firstOrganisationInput>;

export const organisationFounded = z.object({ id: idText });

/** Whether gateways may serve the organisation: its counters are proved and its fence has fallen. */
export const organisationReady = z.object({ ready: z.boolean() });

/** Currency and time zone are fixed: counters and periods are counted in them. */
export const updateOrganisationInput = z.strictObject({
  name: nameText.optional(),
  locale: z.enum(["en", "zh-CN"]).optional(),
  budgetRefusalStatus: z.union([z.literal(429), z.literal(402)]).optional(),
});
export type UpdateOrganisationInput = z.input<typeof updateOrganisationInput>;

export const createConsumerInput = z.strictObject({
  parentId: idText,
  kind: z.enum(["department", "team", "app", "user"]),
  name: nameText,
  costCentre: z.string().trim().min(1).max(40).nullable().default(null),
  ownerUserId: idText.nullable().default(null),
});
export type CreateConsumerInput = z.input<typeof createConsumerInput>;

export const updateConsumerInput = z.strictObject({
  name: nameText.optional(),
  costCentre: z.string().trim().min(1).max(40).nullable().optional(),
  ownerUserId: idText.nullable().optional(),
});
export type UpdateConsumerInput = z.input<typeof updateConsumerInput>;
