/** Usage events from outside the fast path: checked field by field, and mended where only their texts offend Postgres. */
import type { UsageEvent } from "@/lib/domain/usage-event";
import { usageEvent } from "@/lib/domain/usage-event";
import { parseStorable } from "./storable-json";

export type ReadEvent =
  { readonly ok: true; readonly event: UsageEvent } | { readonly ok: false; readonly reason: string };

/** The event in `json`, or why it is none. The reason names fields, never values. */
export function readUsageEvent(json: string): ReadEvent {
  let value: unknown;
  try {
    value = parseStorable(json);
  } catch {
    return { ok: false, reason: "not JSON" };
  }
  const parsed = usageEvent.safeParse(value);
  if (parsed.success) return { ok: true, event: parsed.data };
  const fields = new Set(parsed.error.issues.map((issue) => issue.path.join(".")));
  return { ok: false, reason: `wrong fields: ${[...fields].slice(0, 10).join(", ")}` };
}
