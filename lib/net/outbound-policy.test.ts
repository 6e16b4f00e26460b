import { describe, expect, it } from "vitest";
import { outboundPolicy, targetRefusal } from "./outbound-policy";

const at = (host: string, port = 443, scheme: "http" | "https" = "https") => ({ scheme, host, port });

describe("the outbound policy", () => {
  it("opens public addresses over https on 443, and nothing else, by default", () => {
    const policy = outboundPolicy();
    expect(targetRefusal(policy, at("a.example"), "8.8.8.8")).toBeUndefined();
    expect(targetRefusal(policy, at("a.example"), "2606:4700:4700::1111")).toBeUndefined();
    expect(targetRefusal(policy, at("a.example", 80, "http"), "8.8.8.8")).toBe("scheme");
    expect(targetRefusal(policy, at("a.example", 6379), "8.8.8.8")).toBe("port");
    expect(targetRefusal(policy, at("a.example"), "10.0.0.1")).toBe("private");
    expect(targetRefusal(policy, at("a.example"), "not an address")).toBe("notAnAddress");
    expect(targetRefusal(policy, at("a.example"), "fe80::1%eth0")).toBe("notAnAddress");
  });

  it("opens exactly what the operator names", () => {
    const policy = outboundPolicy({ allow: ["10.2.0.0/16:8000", "[fd00::7]:9000", "fd01::/16", "vllm.internal"] });
    expect(targetRefusal(policy, at("x", 8000, "http"), "10.2.255.255")).toBeUndefined();
    expect(targetRefusal(policy, at("x", 8001, "http"), "10.2.255.255")).toBe("private");
    expect(targetRefusal(policy, at("x", 8000, "http"), "10.3.0.0")).toBe("private");
    expect(targetRefusal(policy, at("x", 9000), "fd00::7")).toBeUndefined();
    expect(targetRefusal(policy, at("x", 9000), "fd00::8")).toBe("private");
    expect(targetRefusal(policy, at("x", 1), "fd01:2::3")).toBeUndefined();
    expect(targetRefusal(policy, at("vllm.internal", 1, "http"), "192.168.7.7")).toBeUndefined();
    expect(targetRefusal(policy, at("vllm.internal.evil.example"), "192.168.7.7")).toBe("private");
  });

  it.each([
    ["169.254.169.254", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["169.254.0.7", "linkLocal"],
    ["0.0.0.0", "unspecified"],
    ["::ffff:10.0.0.1", "embeddedIpv4"],
    ["64:ff9b::a9fe:a9fe", "embeddedIpv4"],
  ])("no range and no host name leads to %s by the way", (address, reason) => {
    const policy = outboundPolicy({ allow: ["0.0.0.0/0", "::/0", "vllm.internal"] });
    expect(targetRefusal(policy, at("vllm.internal"), address)).toBe(reason);
    expect(targetRefusal(policy, at("x"), "10.0.0.1")).toBeUndefined();
  });

  it("an entry for the one address does open it", () => {
    expect(targetRefusal(outboundPolicy({ allow: ["169.254.0.7"] }), at("x"), "169.254.0.7")).toBeUndefined();
  });

  it.each([
    "",
    "*",
    "http://x",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0/8",
    "fd00::/129",
    "a b",
    "x:0",
    "x:70000",
    "*.corp",
  ])("a mistyped entry %j stops the start, and is named", (entry) => {
    expect(() => outboundPolicy({ allow: [entry] })).toThrow(`"${entry}"`);
  });
});
