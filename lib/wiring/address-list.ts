/** Lists of addresses and CIDR ranges that a key may be used from. */
import { BlockList, isIP } from "node:net";

/** A list belongs to a document of the snapshot, which is replaced when it changes. */
const built = new WeakMap<readonly string[], BlockList>();

function build(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [network = "", prefix] = entry.split("/");
    const kind = isIP(network);
    const longest = kind === 6 ? 128 : 32;
    const length = prefix === undefined ? longest : /^\d{1,3}$/u.test(prefix) ? Number(prefix) : Number.NaN;
    // What cannot be read lets nobody in.
    if (kind !== 0 && length <= longest) list.addSubnet(network, length, kind === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** Whether an address is on a list of addresses and CIDR ranges. An unknown address is on none. */
export function isAddressAllowed(allowList: readonly string[], address: string | undefined): boolean {
  const plain = address?.replace(/^::ffff:(?=\d+\.)/u, "") ?? "";
  const kind = isIP(plain);
  if (kind === 0) return false;
  let list = built.get(allowList);
  if (!list) built.set(allowList, (list = build(allowList)));
  return list.check(plain, kind === 6 ? "ipv6" : "ipv4");
}
