/**
 * Whether a configured URL may be called at all, before anything is resolved. The text must say plainly where it goes: what
 * a URL parser would repair (decimal and hexadecimal addresses, full-width digits, trailing dots, backslashes, control
 * characters) is refused, because another parser may repair it to another place.
 */
import type { OutboundPolicy, OutboundTarget, TargetRefusal } from "./outbound-policy";
import { isHostName, isListedHost, targetRefusal } from "./outbound-policy";
import { parseAddress } from "./address";

export type UrlRefusal = TargetRefusal | "malformed" | "tooLong" | "credentials" | "ambiguousHost" | "localName";

export type UrlCheck =
  | { readonly ok: true; readonly url: URL; readonly target: OutboundTarget }
  | { readonly ok: false; readonly reason: UrlRefusal; readonly message: string };

const MAX_LENGTH = 2048;

const MESSAGES: Readonly<Record<UrlRefusal, string>> = {
  malformed: "The URL is not well-formed.",
  tooLong: `The URL is longer than ${String(MAX_LENGTH)} characters.`,
  credentials: "The URL may not carry a user name or password.",
  ambiguousHost: "Write the host as a plain name or address: no trailing dot, no other notation of an IP address.",
  localName: "The host is this machine, which the outbound allow list does not name.",
  scheme: "The URL must begin with https://, unless the outbound allow list names its host.",
  port: "The port is not one of those allowed, and the outbound allow list does not name this host and port.",
  notAnAddress: "The host does not resolve to an address.",
  loopback: "The host is this machine, which the outbound allow list does not name.",
  private: "The host is in a private network that the outbound allow list does not name.",
  linkLocal: "The host has a link-local address.",
  sharedNat: "The host is in the shared address space 100.64.0.0/10.",
  unspecified: "The host has an unspecified address.",
  multicast: "The host has a multicast or broadcast address.",
  reserved: "The host has a reserved address.",
  embeddedIpv4: "The host has an IPv6 address that stands for an IPv4 address.",
  metadata: "The host is a metadata service of a cloud.",
};

export const URL_REFUSALS = Object.keys(MESSAGES) as readonly UrlRefusal[];

/** A sentence for the person who configured the URL. */
export function refusalMessage(reason: UrlRefusal): string {
  return MESSAGES[reason];
}

function refuse(reason: UrlRefusal): UrlCheck {
  return { ok: false, reason, message: MESSAGES[reason] };
}

/** The host as it was written, without user, brackets' content changed or port. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/iu;

function writtenHost(text: string): string {
  const authority = AUTHORITY.exec(text)?.[1] ?? "";
  return authority.replace(/:\d*$/u, "").toLowerCase();
}

/** Whether the parser read the host as it stands: letter by letter, or label by label as an internationalised name. */
function isPlainHost(written: string, parsed: string): boolean {
  if (parsed.startsWith("[")) return written.startsWith("[") && !written.includes("%");
  if (parsed.endsWith(".")) return false;
  if (written === parsed) return isHostName(parsed);
  const labels = parsed.split(".");
  const writtenLabels = written.split(".");
  return (
    parseAddress(parsed) === undefined &&
    labels.length === writtenLabels.length &&
    labels.every((label, index) => label === writtenLabels[index] || label.startsWith("xn--"))
  );
}

const isLocalName = (host: string) => host === "localhost" || host.endsWith(".localhost");

/** What is known of a name without resolving it; what it resolves to is judged when it is connected to. */
function nameRefusal(policy: OutboundPolicy, target: OutboundTarget): UrlRefusal | undefined {
  if (isListedHost(policy, target.host, target.port)) return undefined;
  if (isLocalName(target.host)) return "localName";
  // A listed network may turn out to hold the host; then it opens scheme and port as well.
  if (policy.networks.length > 0) return undefined;
  if (target.scheme === "http" && !policy.isHttpAllowed) return "scheme";
  return policy.ports.has(target.port) ? undefined : "port";
}

/** Judges the text of a URL. Never throws, never resolves. */
export function checkUrl(text: string, policy: OutboundPolicy): UrlCheck {
  if (text.length > MAX_LENGTH) return refuse("tooLong");
  if (/[\s\p{C}\\]/u.test(text)) return refuse("malformed");
  const scheme = /^(https?):\/\//iu.exec(text)?.[1]?.toLowerCase();
  if (scheme !== "http" && scheme !== "https") return refuse("scheme");
  if (!URL.canParse(text)) return refuse("malformed");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || AUTHORITY.exec(text)?.[1]?.includes("@") === true) {
    return refuse("credentials");
  }
  if (!isPlainHost(writtenHost(text), url.hostname)) return refuse("ambiguousHost");
  const target = targetOf(url);
  const reason =
    parseAddress(target.host) === undefined ? nameRefusal(policy, target) : targetRefusal(policy, target, target.host);
  return reason === undefined ? { ok: true, url, target } : refuse(reason);
}

/** Scheme, host and port of a URL that checkUrl has passed. */
function targetOf(url: URL): OutboundTarget {
  const scheme = url.protocol === "http:" ? "http" : "https";
  const port = url.port === "" ? (scheme === "http" ? 80 : 443) : Number(url.port);
  return { scheme, host: url.hostname.replace(/^\[|\]$/gu, ""), port };
}
