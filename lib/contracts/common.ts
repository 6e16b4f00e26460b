/**
 * Pieces shared by every contract between the console's pages, its route handlers and the use cases behind them.
 * Amounts travel as decimal integer text: nanos of the stated currency for meter `cost`, a plain count otherwise.
 * Times travel as Unix milliseconds (UTC); the organisation's zone travels beside them.
 */
import { z } from "zod";
import { MAX_AMOUNT } from "@/lib/domain/money";

/** Signed amount as decimal integer text. */
export const amountText = z.string().regex(/^-?(?:0|[1-9]\d{0,18})$/u);

/** Non-negative amount that fits a signed 64-bit integer. */
export const limitText = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,18})$/u, "amount_malformed")
  .refine((text) => text.length < 19 || BigInt(text) <= MAX_AMOUNT, "amount_out_of_range");

/** An amount that must be above zero. */
export const positiveAmountText = limitText.refine((text) => text !== "0", "amount_not_positive");

/** Unix milliseconds. */
export const timeMs = z.int().nonnegative();

export const idText = z.string().min(1).max(64);

/**
 * Body of every refused console request. `fields` names the input paths at fault; codes are translated by the client,
 * texts are the server's public message in English for logs and API users.
 */
export const consoleError = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.record(z.string(), z.string()).optional(),
    requestId: z.string(),
  }),
});

/** Body of a write that takes nothing but its address. */
export const nothing = z.strictObject({});

/** Answer of a write. `auditId` names the audit row; `POST /api/console/undo` takes it back while `undoable`. */
export const writeResult = z.object({ id: idText, auditId: idText, undoable: z.boolean() });
export type WriteResult = z.infer<typeof writeResult>;

export const undoInput = z.strictObject({ auditId: idText });
export type UndoInput = z.infer<typeof undoInput>;

/** What every answer says about the organisation whose numbers it shows. */
export const organisationView = z.object({
  id: z.string(),
  name: z.string(),
  currency: z.string(),
  timeZone: z.string(),
  isSample: z.boolean(),
});
export type OrganisationView = z.infer<typeof organisationView>;
