/**
 * What kind of place an IP address is. Only globally routable unicast is `public`; the rest is named, so that a refusal
 * can say why. Ranges are those of the IANA special-purpose registries (RFC 6890 and its updates) as ipaddr.js knows them,
 * with what the registries do not list: IPv6 outside 2000::/3 is not assigned for global use (RFC 4291 section 2.4), and
 * clouds answer with credentials on addresses that look public.
 */
import ipaddr from "ipaddr.js";

export type AddressKind =
  | "public"
  | "loopback"
  | "private"
  | "linkLocal"
  | "sharedNat"
  | "unspecified"
  | "multicast"
  | "reserved"
  | "embeddedIpv4"
  | "metadata";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** ipaddr.js range names that are not in the map are special in another way: reserved. */
const KINDS: Readonly<Record<string, AddressKind>> = {
  unicast: "public",
  loopback: "loopback",
  private: "private",
  uniqueLocal: "private",
  deprecatedSiteLocal: "private",
  linkLocal: "linkLocal",
  carrierGradeNat: "sharedNat",
  unspecified: "unspecified",
  multicast: "multicast",
  broadcast: "multicast",
  // An IPv4 address in IPv6 clothes reaches wherever a translator or tunnel takes it, so what is inside does not matter.
  ipv4Mapped: "embeddedIpv4",
  rfc6145: "embeddedIpv4",
  rfc6052: "embeddedIpv4",
  "6to4": "embeddedIpv4",
  teredo: "embeddedIpv4",
};

/**
 * Metadata and wire-server addresses of clouds, as their documents name them: the common link-local one, AWS over IPv6 and
 * its container credentials, Azure's wire server, Alibaba Cloud, Oracle Cloud (classic).
 */
const METADATA = new Set(
  ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"].map((text) =>
    ipaddr.parse(text).toString(),
  ),
);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/** An address in the plain form a resolver gives; undefined for anything else, also for `127.1`, `0x7f.0.0.1` and zone ids. */
export function parseAddress(text: string): IpAddress | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%")) return undefined;
  return ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
}

export function addressKind(address: IpAddress): AddressKind {
  if (METADATA.has(address.toString())) return "metadata";
  const kind = KINDS[address.range()] ?? "reserved";
  if (kind !== "public" || address.kind() === "ipv4") return kind;
  if (address.match(IPV4_COMPATIBLE)) return "embeddedIpv4";
  return address.match(GLOBAL_UNICAST) ? "public" : "reserved";
}
