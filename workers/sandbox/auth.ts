/** Who calls: any secret that starts with `sandbox-`, where the vendor wants it. The secret itself is never kept. */
import { createHash } from "node:crypto";
import { RequestError } from "./errors";
import type { HttpRequest } from "./http-request";
import { namedError } from "./vendor-errors";
import type { Vendor } from "./vendors";

const SCHEME = "Bearer ";
const PREFIX = "Bearer sandbox-";
const MAX_LABELS = 10_000;
/** A local server asks nobody who they are. */
const OPEN_LABEL = "open:000000000000";
const KEY_HEADERS: Partial<Record<Vendor, string>> = {
  anthropic: "x-api-key",
  azure: "api-key",
  gemini: "x-goog-api-key",
};

/** Labels by authorization header, so that a load test hashes each key once. */
const labels = new Map<string, string>();

/** The label of the caller's key: last four characters, a colon, twelve hexadecimal digits of its SHA-256. */
export function authenticate(request: HttpRequest, vendor: Vendor): string {
  const authorization = vendor === "openai" ? request.headers.authorization : credentialOf(request, vendor);
  if (authorization === undefined) {
    if (vendor === "ollama") return OPEN_LABEL;
    throw refused(vendor, null, "You didn't provide an API key. Provide it in an Authorization header (Bearer).");
  }
  const known = labels.get(authorization);
  if (known !== undefined) return known;
  if (!authorization.startsWith(PREFIX)) throw refused(vendor, "invalid_api_key", "Incorrect API key provided.");
  const secret = authorization.slice(SCHEME.length);
  const label = `${secret.slice(-4)}:${createHash("sha256").update(secret).digest("hex").slice(0, 12)}`;
  if (labels.size >= MAX_LABELS) labels.clear();
  labels.set(authorization, label);
  return label;
}

/** The secret as a bearer credential, from the vendor's own header first. */
function credentialOf(request: HttpRequest, vendor: Vendor): string | undefined {
  const header = KEY_HEADERS[vendor];
  if (header === undefined) return request.headers.authorization;
  const own = request.header(header) ?? (vendor === "gemini" ? request.query().get("key") : null);
  return own === null || own === undefined ? request.headers.authorization : SCHEME + own;
}

function refused(vendor: Vendor, code: string | null, message: string): RequestError {
  if (vendor === "openai") return new RequestError(401, code, message);
  const named = namedError(vendor, "auth");
  return new RequestError(named.status, named.code ?? null, named.message, null, named.type);
}
