import { describe, expect, it } from "vitest";
import { clientAddress } from "./client-address";

const PROXIES = ["10.0.0.0/8", "2001:db8::/32"];

describe("the address that a call comes from", () => {
  it("is the peer's where no proxy is trusted, whatever the caller wrote", () => {
    expect(clientAddress("198.51.100.9", "192.0.2.7", [])).toBe("198.51.100.9");
    expect(clientAddress(undefined, "192.0.2.7", [])).toBeUndefined();
  });

  it("is the peer's where that is no trusted proxy", () => {
    expect(clientAddress("198.51.100.9", "192.0.2.7", PROXIES)).toBe("198.51.100.9");
  });

  it.each([
    ["of the only hop", "10.0.0.1", "192.0.2.7", "192.0.2.7"],
    ["of the rightmost hop that is not trusted", "10.0.0.1", "203.0.113.1, 192.0.2.7, 10.0.0.2", "192.0.2.7"],
    ["of the peer that wrote nothing", "10.0.0.1", undefined, "10.0.0.1"],
    ["of the leftmost where all are trusted", "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
    ["behind a peer in the clothes of IPv6", "::ffff:10.0.0.1", "192.0.2.7", "192.0.2.7"],
    ["without the port", "10.0.0.1", "192.0.2.7:50123", "192.0.2.7"],
    ["of IPv6 without brackets and port", "2001:db8::1", "[2a00::7]:443", "2a00::7"],
    ["of the hop where the host cannot know the peer", undefined, "203.0.113.1, 192.0.2.7", "192.0.2.7"],
  ])("is that %s", (_name, peer, forwardedFor, expected) => {
    expect(clientAddress(peer, forwardedFor, PROXIES)).toBe(expected);
  });

  it.each([
    ["unknown", "10.0.0.1"],
    ["192.0.2.7, _hidden", "10.0.0.1"],
    ["192.0.2.7, ", "10.0.0.1"],
    ["", "10.0.0.1"],
    [undefined, undefined],
  ])("is nobody's where the nearest hop is no address: %s", (forwardedFor, peer) => {
    expect(clientAddress(peer, forwardedFor, PROXIES)).toBeUndefined();
  });
});
