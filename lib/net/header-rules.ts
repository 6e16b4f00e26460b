/**
 * Which headers cross the gateway, both ways, by allow lists: what is not named stays behind. So credentials, cookies,
 * X-Forwarded-*, what pretends to come from the gateway, hop-by-hop headers (RFC 9110 section 7.6.1) and the vendor's account
 * details need no rule of their own and no rule can be forgotten.
 */

/** Whose API the upstream speaks. */
export type HeaderDialect = "openai" | "anthropic" | "gemini";

export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

const REQUEST_HEADERS: Readonly<Record<HeaderDialect, ReadonlySet<string>>> = {
  openai: new Set(["accept", "content-type", "openai-beta"]),
  anthropic: new Set(["accept", "content-type", "anthropic-version", "anthropic-beta"]),
  gemini: new Set(["accept", "content-type"]),
};

/** Lists of names a vendor acts upon; some change the price, so a policy may pass only those it knows. */
const FEATURE_LISTS = new Set(["openai-beta", "anthropic-beta"]);

const RESPONSE_HEADERS: ReadonlyMap<string, string> = new Map([
  ["content-type", "content-type"],
  ["content-disposition", "content-disposition"],
  ["openai-processing-ms", "openai-processing-ms"],
  ["openai-version", "openai-version"],
  // The vendor's id of the call, for talking to its support; ours is x-request-id.
  ["x-request-id", "x-spillway-upstream-request-id"],
  ["request-id", "x-spillway-upstream-request-id"],
  ["apim-request-id", "x-spillway-upstream-request-id"],
]);

/** Visible ASCII with spaces and tabs inside (RFC 9110 section 5.5), bounded. */
const SAFE_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]{0,1022}[\x21-\x7e])?$/u;

/** Names in `Connection` are hop-by-hop too, whatever else they are. */
function namedInConnection(pairs: readonly (readonly [string, string])[]): Set<string> {
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => value.split(","));
  return new Set(named.map((name) => name.trim().toLowerCase()));
}

function passedFeatures(value: string, isAllowed: (feature: string) => boolean): string {
  const features = value.split(",").map((feature) => feature.trim());
  return features.filter((feature) => feature !== "" && isAllowed(feature)).join(",");
}

/**
 * What of a caller's headers goes upstream, names in lower case. A header that occurs twice is joined by a comma if it is a
 * list of features, else its first value counts. `isFeatureAllowed` judges each name in openai-beta and anthropic-beta.
 */
export function headersForUpstream(
  headers: HeaderPairs,
  dialect: HeaderDialect,
  isFeatureAllowed: (feature: string) => boolean = () => true,
): Record<string, string> {
  const pairs = [...headers];
  const dropped = namedInConnection(pairs);
  const passed: Record<string, string> = {};
  for (const [given, value] of pairs) {
    const name = given.toLowerCase();
    if (!REQUEST_HEADERS[dialect].has(name) || dropped.has(name) || !SAFE_VALUE.test(value)) continue;
    if (!FEATURE_LISTS.has(name)) {
      passed[name] ??= value;
      continue;
    }
    const features = passedFeatures(value, isFeatureAllowed);
    const known = passed[name];
    if (features !== "") passed[name] = known === undefined ? features : `${known},${features}`;
  }
  return passed;
}

/**
 * What of the upstream's headers comes back to the caller. The vendor's rate headers are of the company's account, not of
 * the caller; Set-Cookie, Server, organisation ids and Retry-After (the gateway writes its own) stay behind.
 */
export function headersForCaller(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [given, values] of Object.entries(headers)) {
    const name = RESPONSE_HEADERS.get(given.toLowerCase());
    const value = typeof values === "string" ? values : values?.[0];
    if (name !== undefined && value !== undefined && SAFE_VALUE.test(value)) passed[name] ??= value;
  }
  return passed;
}

export interface HeaderLimits {
  readonly maxCount: number;
  /** Of all names and values, in bytes of UTF-8. */
  readonly maxTotalBytes: number;
  readonly maxValueBytes: number;
}

export const DEFAULT_HEADER_LIMITS: HeaderLimits = { maxCount: 100, maxTotalBytes: 32_768, maxValueBytes: 16_384 };

const encoder = new TextEncoder();

/** Which limit the headers of a request exceed; undefined where they keep all. */
export function exceededHeaderLimit(
  headers: HeaderPairs,
  limits: HeaderLimits = DEFAULT_HEADER_LIMITS,
): keyof HeaderLimits | undefined {
  let count = 0;
  let totalBytes = 0;
  for (const [name, value] of headers) {
    count += 1;
    const valueBytes = encoder.encode(value).length;
    totalBytes += name.length + valueBytes;
    if (count > limits.maxCount) return "maxCount";
    if (valueBytes > limits.maxValueBytes) return "maxValueBytes";
    if (totalBytes > limits.maxTotalBytes) return "maxTotalBytes";
  }
  return undefined;
}

const MAX_TAG_LENGTH = 200;

/**
 * Free text as a header value: letters, digits and `-._~:/@+` as they are, every other byte of its UTF-8 as %XX, so that
 * line breaks cannot end the header and names in any script arrive. At most 200 characters, never half an escape.
 */
export function headerSafe(text: string): string {
  let safe = "";
  for (const character of text.normalize("NFC")) {
    const written = /[A-Za-z0-9\-._~:/@+]/u.test(character) ? character : percentEncoded(character);
    if (safe.length + written.length > MAX_TAG_LENGTH) break;
    safe += written;
  }
  return safe;
}

function percentEncoded(character: string): string {
  return [...encoder.encode(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

/** Tags by which an upstream or its own bill can split what we spend: who and on whose cost centre. */
export function billingTagHeaders(tags: {
  readonly consumerId: string;
  readonly costCentre: string | null;
}): Record<string, string> {
  const headers: Record<string, string> = { "x-consumer-id": headerSafe(tags.consumerId) };
  if (tags.costCentre !== null && tags.costCentre !== "") headers["x-cost-centre"] = headerSafe(tags.costCentre);
  return headers;
}
