/** Who calls: any bearer secret that starts with `sandbox-`. The secret itself is never kept, only its label. */
import { createHash } from "node:crypto";
import { RequestError } from "./errors";

const SCHEME = "Bearer ";
const PREFIX = "Bearer sandbox-";
const MAX_LABELS = 10_000;

/** Labels by authorization header, so that a load test hashes each key once. */
const labels = new Map<string, string>();

/** The label of the caller's key: last four characters, a colon, twelve hexadecimal digits of its SHA-256. */
export function authenticate(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new RequestError(401, null, "You didn't provide an API key. Provide it in an Authorization header (Bearer).");
  }
  const known = labels.get(authorization);
  if (known !== undefined) return known;
  if (!authorization.startsWith(PREFIX)) throw new RequestError(401, "invalid_api_key", "Incorrect API key provided.");
  const secret = authorization.slice(SCHEME.length);
  const label = `${secret.slice(-4)}:${createHash("sha256").update(secret).digest("hex").slice(0, 12)}`;
  if (labels.size >= MAX_LABELS) labels.clear();
  labels.set(authorization, label);
  return label;
}
