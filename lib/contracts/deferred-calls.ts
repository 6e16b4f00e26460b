/** Calls that were taken for later, newest first. What they ask and what they were answered is never here. */
import { z } from "zod";
import { DEFERRED_STATES } from "@/lib/domain/deferred-call";
import { idText, organisationView, timeMs } from "./common";

export const deferredListQuery = z.object({
  state: z.enum(["", ...DEFERRED_STATES]).default(""),
  /** `<createdAtMs>.<id>` of the last row seen. */
  after: z.string().max(80).default(""),
});
export type DeferredListQuery = z.infer<typeof deferredListQuery>;

export const deferredView = z.object({
  id: idText,
  state: z.enum(DEFERRED_STATES),
  appName: z.string().nullable(),
  keyName: z.string().nullable(),
  modelRequested: z.string().nullable(),
  createdAtMs: timeMs,
  /** When it is tried next; null: it runs or has ended. */
  nextAtMs: timeMs.nullable(),
  deadlineMs: timeMs,
  endedAtMs: timeMs.nullable(),
  tries: z.int(),
  /** Why it failed. */
  code: z.string().nullable(),
  /** The call that was deferred, and the one that it was run as. */
  requestId: z.string().nullable(),
  runRequestId: z.string().nullable(),
  canCancel: z.boolean(),
});
export type DeferredView = z.infer<typeof deferredView>;

export const deferredList = z.object({
  organisation: organisationView,
  readAtMs: timeMs,
  rows: z.array(deferredView),
  next: z.string().nullable(),
});
export type DeferredList = z.infer<typeof deferredList>;
