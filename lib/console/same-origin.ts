/** Guard against requests that another site makes a signed-in browser send. */

/**
 * Whether the request comes from our own pages. Browsers say so in Sec-Fetch-Site; where that is missing the Origin must
 * be ours: the public address, or the host the request was sent to. A write without either is refused.
 */
export function isOwnPage(headers: Headers, publicUrl: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const origin = headers.get("origin");
  if (origin === null) return site === "same-origin";
  if (!URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return origin === new URL(publicUrl).origin || host === headers.get("host");
}
