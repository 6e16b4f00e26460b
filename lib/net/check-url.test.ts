import { describe, expect, it } from "vitest";
import { checkUrl } from "./check-url";
import { outboundPolicy } from "./outbound-policy";

const strict = outboundPolicy();
const reasonOf = (text: string, policy = strict) => {
  const checked = checkUrl(text, policy);
  return checked.ok ? "ok" : checked.reason;
};

describe("the text of a URL", () => {
  it.each([
    "https://api.openai.com/v1",
    "https://API.OpenAI.com/v1",
    "https://api.openai.com:443/v1?x=1",
    "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "https://my_res.openai.azure.com/openai",
    "https://模型.example.com/v1",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
  ])("%s is public and plain", (text) => {
    expect(reasonOf(text)).toBe("ok");
  });

  it.each([
    ["http://api.openai.com/v1", "scheme"],
    ["ftp://api.openai.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["//api.openai.com", "scheme"],
    ["https:api.openai.com", "scheme"],
    ["https://user:secret@api.openai.com/", "credentials"],
    ["https://@api.openai.com/", "credentials"],
    ["https://api.openai.com@127.0.0.1/", "credentials"],
    ["https://api.openai.com:8443/", "port"],
    ["https://api.openai.com:22/", "port"],
    ["https://localhost/", "localName"],
    ["https://db.localhost/", "localName"],
    ["https://127.0.0.1/", "loopback"],
    ["https://127.8.9.10/", "loopback"],
    ["https://[::1]/", "loopback"],
    ["https://0.0.0.0/", "unspecified"],
    ["https://[::]/", "unspecified"],
    ["https://10.1.2.3/", "private"],
    ["https://172.31.255.255/", "private"],
    ["https://192.168.0.1/", "private"],
    ["https://[fd12::1]/", "private"],
    ["https://[fec0::1]/", "private"],
    ["https://169.254.169.254/latest/meta-data/", "metadata"],
    ["https://[fd00:ec2::254]/", "metadata"],
    ["https://100.100.100.200/", "metadata"],
    ["https://168.63.129.16/", "metadata"],
    ["https://169.254.1.1/", "linkLocal"],
    ["https://[fe80::1]/", "linkLocal"],
    ["https://100.64.0.1/", "sharedNat"],
    ["https://100.127.255.254/", "sharedNat"],
    ["https://224.0.0.1/", "multicast"],
    ["https://255.255.255.255/", "multicast"],
    ["https://[ff02::1]/", "multicast"],
    ["https://240.0.0.1/", "reserved"],
    ["https://192.0.2.1/", "reserved"],
    ["https://198.18.0.1/", "reserved"],
    ["https://[2001:db8::1]/", "reserved"],
    ["https://[4000::1]/", "reserved"],
    ["https://[::ffff:127.0.0.1]/", "embeddedIpv4"],
    ["https://[::ffff:7f00:1]/", "embeddedIpv4"],
    ["https://[::ffff:8.8.8.8]/", "embeddedIpv4"],
    ["https://[::127.0.0.1]/", "embeddedIpv4"],
    ["https://[64:ff9b::a9fe:a9fe]/", "embeddedIpv4"],
    ["https://[64:ff9b:1::a9fe:a9fe]/", "embeddedIpv4"],
    ["https://[2002:a9fe:a9fe::]/", "embeddedIpv4"],
    ["https://[2001:0:53aa:64c::1]/", "embeddedIpv4"],
    ["https://2130706433/", "ambiguousHost"],
    ["https://0x7f000001/", "ambiguousHost"],
    ["https://0x7f.0.0.1/", "ambiguousHost"],
    ["https://017700000001/", "ambiguousHost"],
    ["https://0177.0.0.1/", "ambiguousHost"],
    ["https://127.1/", "ambiguousHost"],
    ["https://0/", "ambiguousHost"],
    ["https://2852039166/", "ambiguousHost"],
    ["https://①②⑦.⓪.⓪.①/", "ambiguousHost"],
    ["https://127。0。0。1/", "ambiguousHost"],
    ["https://ⓔⓧample.com/", "ambiguousHost"],
    ["https://api.openai.com./", "ambiguousHost"],
    ["https://127.0.0.1./", "ambiguousHost"],
    ["https://%31%32%37.0.0.1/", "ambiguousHost"],
    ["https://[fe80::1%25eth0]/", "malformed"],
    ["https://[fe80::1%eth0]/", "malformed"],
    ["https:///api.openai.com/", "ambiguousHost"],
    ["https:\\\\127.0.0.1/", "malformed"],
    ["https://api.openai.com\\@127.0.0.1/", "malformed"],
    ["https://api.openai.com\u0000.evil.example/", "malformed"],
    [" https://api.openai.com/", "malformed"],
    ["https://api.openai.com/\n", "malformed"],
    ["https://api.open\u200Bai.com/", "malformed"],
    ["https://api.open\u00ADai.com/", "malformed"],
    ["https://a..b/", "ambiguousHost"],
    ["https://256.256.256.256/", "malformed"],
    ["https://", "malformed"],
    ["", "scheme"],
    [`https://api.openai.com/${"x".repeat(2048)}`, "tooLong"],
  ])("%j is refused: %s", (text, reason) => {
    expect(reasonOf(text)).toBe(reason);
  });

  it("a refusal has a sentence for the person who configured it", () => {
    const checked = checkUrl("http://api.openai.com/", strict);
    expect(!checked.ok && checked.message).toMatch(/https:\/\//u);
  });

  it("a listed host opens scheme and port of its own, and of no other", () => {
    const policy = outboundPolicy({ allow: ["vllm.internal:8000", "localhost"] });
    expect(reasonOf("http://vllm.internal:8000/v1", policy)).toBe("ok");
    expect(reasonOf("http://vllm.internal:8001/v1", policy)).toBe("scheme");
    expect(reasonOf("http://evil-vllm.internal:8000/v1", policy)).toBe("scheme");
    expect(reasonOf("http://localhost:4010/v1", policy)).toBe("ok");
    expect(reasonOf("http://127.0.0.1:4010/v1", policy)).toBe("loopback");
  });

  it("a name may be in a listed network, which only the connection can tell", () => {
    const policy = outboundPolicy({ allow: ["10.2.0.0/16"] });
    expect(reasonOf("http://vllm.internal:8000/v1", policy)).toBe("ok");
    expect(reasonOf("http://10.2.3.4:8000/v1", policy)).toBe("ok");
    expect(reasonOf("http://10.3.3.4:8000/v1", policy)).toBe("private");
  });
});
