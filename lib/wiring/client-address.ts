/** The address that a call comes from, for address lists of keys and for counting attempts at sign-in. One rule for all hosts. */
import { isIP } from "node:net";
import { isAddressAllowed } from "./address-list";

/** A hop as proxies write it, some with the port: `192.0.2.7:443`, `[2001:db8::7]:443`. Undefined for what is no address. */
function addressOfHop(hop: string): string | undefined {
  const text = hop.trim();
  const inBrackets = /^\[([^\]]+)\](?::\d+)?$/u.exec(text)?.[1];
  const address = inBrackets ?? text.replace(/^([\d.]+):\d+$/u, "$1");
  return isIP(address) === 0 ? undefined : address;
}

/**
 * Who called: the peer of the connection, or where that is a trusted proxy the rightmost hop of `X-Forwarded-For` that is none;
 * what stands left of it may be anybody's word. Where every hop is trusted it is the leftmost. `peer` is undefined where the host
 * cannot know it: then the proxies in front are taken as met, and without any nothing is believed. Undefined where nobody can say
 * who called: such an address is on no list.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: readonly string[],
): string | undefined {
  if (trustedProxies.length === 0) return peer;
  if (peer !== undefined && !isAddressAllowed(trustedProxies, peer)) return peer;
  const hops = forwardedFor === undefined ? [] : forwardedFor.split(",");
  let nearest = peer;
  for (const hop of hops.reverse()) {
    nearest = addressOfHop(hop);
    if (nearest === undefined || !isAddressAllowed(trustedProxies, nearest)) break;
  }
  return nearest;
}
