/**
 * How use cases reach addresses that people configure. `lib/wiring/outbound.ts` fills it with the guard of `lib/net`: the use
 * cases say what may be asked, the guard where it may go.
 */
import { invalidFields } from "./validate";

export interface Outbound {
  /** Why this URL may not be configured, as a code ("url_private"); null where it may. Resolves nothing. */
  readonly refusalOf: (url: string) => string | null;
  /** One bounded GET that follows no redirect. Never throws. */
  readonly get: (url: string, headers: Readonly<Record<string, string>>) => Promise<OutboundAnswer>;
}

export type OutboundAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly text: string }
  /** The guard said no; nothing was sent. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "failed"; readonly reason: "connect" | "timeout" | "tooLarge" | "closed" };

/** Throws `invalid_request` with this field where the URL may not be configured here. */
export function requireOutbound(outbound: Outbound, field: string, url: string): void {
  const refusal = outbound.refusalOf(url);
  if (refusal !== null) throw invalidFields({ [field]: refusal });
}

/** Whether a secret that was stored for the one address would go to another place under the other. */
export function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin;
}
