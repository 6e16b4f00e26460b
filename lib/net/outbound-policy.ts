/**
 * Where this installation may connect to. Without an allow list: public addresses over https on port 443 only. The operator
 * opens more by name: `vllm.internal`, `vllm.internal:8000`, `10.2.0.0/16`, `127.0.0.1:4010`, `[fd00::7]:8000`. Users of an
 * organisation can open nothing.
 */
import ipaddr from "ipaddr.js";
import { AppError } from "@/lib/domain/fault";
import type { AddressKind, IpAddress } from "./address";
import { addressKind, parseAddress } from "./address";

interface AllowedNetwork {
  readonly network: IpAddress;
  readonly prefixLength: number;
  readonly port: number | null;
}

interface AllowedHost {
  readonly host: string;
  readonly port: number | null;
}

export interface OutboundPolicy {
  readonly networks: readonly AllowedNetwork[];
  readonly hosts: readonly AllowedHost[];
  /** Ports of public addresses; an allow-list entry without a port opens every port of its own place. */
  readonly ports: ReadonlySet<number>;
  /** Whether public addresses may be called without TLS. */
  readonly isHttpAllowed: boolean;
}

export interface OutboundPolicyOptions {
  readonly allow?: readonly string[];
  readonly ports?: readonly number[];
  readonly allowHttp?: boolean;
}

export interface OutboundTarget {
  readonly scheme: "http" | "https";
  /** Lower case, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Why an address may not be connected to. */
export type TargetRefusal = Exclude<AddressKind, "public"> | "scheme" | "port" | "notAnAddress";

const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/u;
const ENTRY = /^(?:\[([^\]]+)\]|([^:[\]]+)|([0-9a-f:]+(?:\/\d{1,3})?))(?::(\d{1,5}))?$/u;

/**
 * What a listed host name or a range opens. The rest (metadata services, link-local, translated addresses) opens only to an
 * entry that names the one address: neither 0.0.0.0/0 nor somebody's name server may lead there by the way.
 */
const OPENED_AT_LARGE: ReadonlySet<AddressKind> = new Set(["public", "loopback", "private", "sharedNat", "reserved"]);

export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

function networkOf(place: string): { network: IpAddress; prefixLength: number } | undefined {
  const [address = "", prefix] = place.split("/");
  const network = parseAddress(address);
  if (!network) return undefined;
  const longest = network.kind() === "ipv4" ? 32 : 128;
  if (prefix === undefined) return { network, prefixLength: longest };
  return /^\d{1,3}$/u.test(prefix) && Number(prefix) <= longest ? { network, prefixLength: Number(prefix) } : undefined;
}

/** Throws AppError `invalid_request` at an entry that is no host, address or CIDR range: a mistyped list must not open or close silently. */
export function outboundPolicy(options: OutboundPolicyOptions = {}): OutboundPolicy {
  const networks: AllowedNetwork[] = [];
  const hosts: AllowedHost[] = [];
  for (const entry of options.allow ?? []) {
    const match = ENTRY.exec(entry.trim().toLowerCase());
    const place = match?.[1] ?? match?.[2] ?? match?.[3] ?? "";
    const port = match?.[4] === undefined ? null : Number(match[4]);
    const network = networkOf(place);
    if (port !== null && (port === 0 || port > 65_535)) throw badEntry(entry);
    if (network) networks.push({ ...network, port });
    else if (isHostName(place) && !/^[\d.]+$/u.test(place)) hosts.push({ host: place, port });
    else throw badEntry(entry);
  }
  return {
    networks,
    hosts,
    ports: new Set(options.ports ?? (options.allowHttp === true ? [80, 443] : [443])),
    isHttpAllowed: options.allowHttp ?? false,
  };
}

function badEntry(entry: string): AppError {
  return new AppError(
    "invalid_request",
    `"${entry.slice(0, 80)}" in the outbound allow list is no host, address or CIDR range`,
  );
}

const onPort = (entry: { readonly port: number | null }, port: number) => entry.port === null || entry.port === port;

export function isListedHost(policy: OutboundPolicy, host: string, port: number): boolean {
  return policy.hosts.some((entry) => entry.host === host && onPort(entry, port));
}

function isWithin(address: IpAddress, { network, prefixLength }: AllowedNetwork): boolean {
  // match() wants both of one family, which its types cannot say.
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, prefixLength);
  return network instanceof ipaddr.IPv6 && address.match(network, prefixLength);
}

function isListedAddress(policy: OutboundPolicy, address: IpAddress, kind: AddressKind, port: number): boolean {
  const longest = address.kind() === "ipv4" ? 32 : 128;
  return policy.networks.some(
    (entry) =>
      onPort(entry, port) && isWithin(address, entry) && (entry.prefixLength === longest || OPENED_AT_LARGE.has(kind)),
  );
}

/** Judges one address a host has resolved to; undefined where the connection may be made. */
export function targetRefusal(
  policy: OutboundPolicy,
  target: OutboundTarget,
  addressText: string,
): TargetRefusal | undefined {
  const address = parseAddress(addressText);
  if (!address) return "notAnAddress";
  const kind = addressKind(address);
  if (isListedAddress(policy, address, kind, target.port)) return undefined;
  if (isListedHost(policy, target.host, target.port) && OPENED_AT_LARGE.has(kind)) return undefined;
  if (kind !== "public") return kind;
  if (target.scheme === "http" && !policy.isHttpAllowed) return "scheme";
  return policy.ports.has(target.port) ? undefined : "port";
}
