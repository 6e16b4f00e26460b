import { describe, expect, it } from "vitest";
import { isAddressAllowed } from "./address-list";

describe("addresses of a key", () => {
  it.each([
    ["10.1.2.3", ["10.0.0.0/8"], true],
    ["::ffff:10.1.2.3", ["10.0.0.0/8"], true],
    ["11.1.2.3", ["10.0.0.0/8"], false],
    ["192.0.2.7", ["192.0.2.7"], true],
    ["192.0.2.8", ["192.0.2.7"], false],
    ["2001:db8::1", ["2001:db8::/32"], true],
    ["2001:db9::1", ["2001:db8::/32"], false],
  ])("%s on %j: %s", (address, list, expected) => {
    expect(isAddressAllowed(list, address)).toBe(expected);
    // From memory it says the same.
    expect(isAddressAllowed(list, address)).toBe(expected);
  });

  it("an address that is not known, or no address at all, is on no list", () => {
    const everywhere = ["0.0.0.0/0", "::/0"];
    for (const address of [undefined, "", "unknown", "10.1.2.3, 10.1.2.4", "10.1.2"]) {
      expect(isAddressAllowed(everywhere, address)).toBe(false);
    }
  });

  it("an entry that cannot be read lets nobody in, and does not take the others with it", () => {
    const list = ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "example.org", "", "192.0.2.7"];
    expect(isAddressAllowed(list, "10.0.0.1")).toBe(false);
    expect(isAddressAllowed(list, "192.0.2.7")).toBe(true);
  });
});
