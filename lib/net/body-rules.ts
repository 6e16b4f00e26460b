/**
 * What a caller's JSON body may not say about addresses. Some servers behind the gateway let a request name another upstream
 * or its key; a model server inside the house fetches the pictures it is shown. Neither is a caller's to choose. Pure but for
 * the policy that is passed in; walks parsed JSON, bounded.
 */
import { checkUrl } from "./check-url";
import type { OutboundPolicy } from "./outbound-policy";

export interface RefusedMember {
  /** Where it stands: `extra_body.api_base`, `messages.0.content.1.image_url.url`. */
  readonly param: string;
  readonly because: "target" | "url";
}

/** Members that redirect a call or bring a foreign key, in the words of the gateways and SDKs that know them. */
const TARGET_MEMBERS = new Set([
  "api_base",
  "api_key",
  "api_version",
  "azure_ad_token",
  "azure_endpoint",
  "base_url",
  "custom_llm_provider",
  "extra_headers",
  "proxy_url",
  "vertex_credentials",
  "aws_access_key_id",
  "aws_secret_access_key",
]);

/** What a model reads: a tool may well have a parameter of such a name. */
const CONTENT_MEMBERS = new Set([
  "messages",
  "input",
  "contents",
  "system",
  "systemInstruction",
  "instructions",
  "prompt",
  "tools",
  "functions",
  "tool_choice",
  "response_format",
  "text",
  "metadata",
  "documents",
  "query",
]);

/** Members of content parts that a server may fetch; the value is the URL, or an object with it under `url`. */
const URL_MEMBERS = new Set(["image_url", "video_url", "audio_url", "file_url", "fileUri", "file_uri"]);
const FETCHED_CONTENT = [
  "messages",
  "input",
  "contents",
  "system",
  "image",
  "image_url",
  "video_url",
  "file_url",
] as const;

const MAX_DEPTH = 12;
/** Texts and objects looked at in one body; more than this is no conversation. */
const MAX_VALUES = 200_000;

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}

function targetMember(value: Json, path: string, depth: number): RefusedMember | undefined {
  for (const [name, member] of Object.entries(value)) {
    const param = path === "" ? name : `${path}.${name}`;
    if (TARGET_MEMBERS.has(name)) return { param, because: "target" };
    if (!isObject(member) || depth >= MAX_DEPTH || (depth === 0 && CONTENT_MEMBERS.has(name))) continue;
    const nested = targetMember(member, param, depth + 1);
    if (nested) return nested;
  }
  return undefined;
}

/** Only scheme and authority are judged: signed links have queries of any length. Scheme, port and names are the host's matter. */
function isRefusedUrl(text: string, policy: OutboundPolicy): boolean {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/iu.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === "data") return false;
  if (scheme !== "http" && scheme !== "https") return scheme !== "gs" && scheme !== "s3";
  const origin = /^[a-z]+:\/\/[^/?#]*/iu.exec(text)?.[0];
  if (origin === undefined) return true;
  const checked = checkUrl(`${origin}/`, policy);
  return !checked.ok && checked.reason !== "scheme" && checked.reason !== "port";
}

function urlText(name: string, value: unknown): string | undefined {
  if (URL_MEMBERS.has(name)) return typeof value === "string" ? value : undefined;
  return name === "url" && typeof value === "string" ? value : undefined;
}

function fetchedUrl(
  value: Json,
  path: string,
  policy: OutboundPolicy,
  walk: { depth: number; left: number },
): RefusedMember | undefined {
  for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    // Numbers are no addresses: an input of token ids has hundreds of thousands of them.
    if (typeof member !== "string" && !isObject(member)) continue;
    const name = String(key);
    walk.left -= 1;
    if (walk.left < 0) return { param: path, because: "url" };
    const text = urlText(name, member);
    if (text !== undefined && isRefusedUrl(text, policy)) return { param: `${path}.${name}`, because: "url" };
    if (!isObject(member) || walk.depth >= MAX_DEPTH) continue;
    walk.depth += 1;
    const nested = fetchedUrl(member, `${path}.${name}`, policy, walk);
    walk.depth -= 1;
    if (nested) return nested;
  }
  return undefined;
}

/** The first member of a request body that names another upstream, a foreign key, or content at an address inside. */
export function refusedBodyMember(body: unknown, policy: OutboundPolicy): RefusedMember | undefined {
  if (!isObject(body)) return undefined;
  const target = targetMember(body, "", 0);
  if (target) return target;
  const walk = { depth: 0, left: MAX_VALUES };
  for (const name of FETCHED_CONTENT) {
    const member = body[name];
    const found =
      typeof member === "string" && URL_MEMBERS.has(name)
        ? isRefusedUrl(member, policy) && { param: name, because: "url" as const }
        : isObject(member) && fetchedUrl(member, name, policy, walk);
    if (found) return found;
  }
  return undefined;
}
