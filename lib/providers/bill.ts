/**
 * The bill of a provider that names our request ids (billing mode `request`): GET {origin}/bill?since=&limit=. The
 * stand-in provider speaks this; a real one gets an adapter that answers the same shape.
 */
import { z } from "zod";

const billLine = z.object({
  sequence: z.int(),
  receivedAt: z.string(),
  requestTag: z.string().nullable(),
  key: z.string(),
  model: z.string(),
  promptTokens: z.int().nonnegative(),
  cachedTokens: z.int().nonnegative(),
  completionTokens: z.int().nonnegative(),
  amountNanos: z.string().regex(/^\d{1,19}$/u),
  aborted: z.boolean(),
});

const billPage = z.object({
  currency: z.string().regex(/^[A-Z]{3}$/u),
  /** Oldest line the provider still has; lines before it are gone. */
  firstSequence: z.int().optional(),
  nextSequence: z.int().nonnegative(),
  hasMore: z.boolean(),
  lines: z.array(billLine),
});
export type BillPage = z.infer<typeof billPage>;

const TIMEOUT_MS = 10_000;

/** Lines after `since`, oldest first, at most `limit`. Throws where the provider does not answer or answers something else. */
export async function fetchBillPage(baseUrl: string, since: number, limit: number): Promise<BillPage> {
  const url = new URL("/bill", baseUrl);
  url.searchParams.set("since", String(since));
  url.searchParams.set("limit", String(limit));
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "error" });
  if (!response.ok) throw new Error(`the bill was answered with status ${response.status}`);
  return billPage.parse(await response.json());
}
