/** Reads a page's data on the server into the cache that its hooks will find. */
import { QueryClient } from "@tanstack/react-query";
import type { QueryKey } from "@tanstack/react-query";

/** A failed read is left out: the page's own hook asks again and shows the error where it belongs. */
export async function prefetched(queryKey: QueryKey, read: () => Promise<unknown>): Promise<QueryClient> {
  const client = new QueryClient();
  await client.prefetchQuery({ queryKey, queryFn: read, retry: false });
  return client;
}
