/** Usage events from outside the fast path: checked field by field, and mended where only their texts offend Postgres. */
import type { UsageEvent } from "@/lib/domain/usage-event";
import { usageEvent } from "@/lib/domain/usage-event";

export type ReadEvent =
  { readonly ok: true; readonly event: UsageEvent } | { readonly ok: false; readonly reason: string };

// jsonb holds neither NUL nor half a surrogate pair; a caller's `user` field may carry both.
const LONE_SURROGATE = /\p{Cs}/gu;

/** The event in `json`, or why it is none. The reason names fields, never values. */
export function readUsageEvent(json: string): ReadEvent {
  let value: unknown;
  try {
    value = JSON.parse(json, (_key, part: unknown) => (typeof part === "string" ? storable(part) : part));
  } catch {
    return { ok: false, reason: "not JSON" };
  }
  const parsed = usageEvent.safeParse(value);
  if (parsed.success) return { ok: true, event: parsed.data };
  const fields = new Set(parsed.error.issues.map((issue) => issue.path.join(".")));
  return { ok: false, reason: `wrong fields: ${[...fields].slice(0, 10).join(", ")}` };
}

function storable(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").replace(LONE_SURROGATE, "\ufffd");
}
