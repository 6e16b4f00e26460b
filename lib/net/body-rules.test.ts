import { describe, expect, it } from "vitest";
import { refusedBodyMember } from "./body-rules";
import { outboundPolicy } from "./outbound-policy";

const policy = outboundPolicy();
const chat = (part: object) => ({
  model: "m",
  messages: [{ role: "user", content: [{ type: "text", text: "x" }, part] }],
});

describe("addresses in a request body", () => {
  it.each<[string, object]>([
    ["api_base", { api_base: "http://127.0.0.1" }],
    ["base_url", { base_url: "https://evil.example" }],
    ["api_key", { api_key: "sk-other" }],
    ["extra_body.api_base", { extra_body: { api_base: "x" } }],
    ["litellm_params.0.deep.base_url", { litellm_params: [{ deep: { base_url: "x" } }] }],
    ["extra_headers", { extra_headers: { host: "evil.example" } }],
  ])("%s names another upstream and is refused", (param, extra) => {
    expect(refusedBodyMember({ model: "m", messages: [], ...extra }, policy)).toEqual({ param, because: "target" });
  });

  it("a tool, a schema or a message may speak of such names", () => {
    const named = { type: "object", properties: { base_url: { type: "string" }, api_key: { type: "string" } } };
    const body = {
      model: "m",
      messages: [{ role: "user", content: "my api_base is http://127.0.0.1/" }],
      tools: [{ type: "function", function: { name: "f", parameters: named } }],
      response_format: { type: "json_schema", json_schema: { schema: named } },
      metadata: { base_url: "x" },
    };
    expect(refusedBodyMember(body, policy)).toBeUndefined();
  });

  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:6379/",
    "http://localhost/x.png",
    "https://0.0.0.0/x.png",
    "http://2130706433/x.png",
    "http://0x7f.1/x.png",
    "http://[::1]/x.png",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://100.64.0.1/",
    "http://user@10.0.0.1/",
    "HTTP://127.0.0.1/",
    " http://127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http:127.0.0.1",
    "file:///etc/passwd",
    "ftp://10.0.0.1/x",
    "gopher://127.0.0.1:6379/_x",
  ])("a picture at %s is refused in every shape", (url) => {
    const found = [
      refusedBodyMember(chat({ type: "image_url", image_url: { url } }), policy),
      refusedBodyMember(chat({ type: "image_url", image_url: url }), policy),
      refusedBodyMember(chat({ type: "image", source: { type: "url", url } }), policy),
      refusedBodyMember({ input: [{ content: [{ type: "input_image", image_url: url }] }] }, policy),
      refusedBodyMember({ input: [{ content: [{ type: "input_file", file_url: url }] }] }, policy),
      refusedBodyMember({ contents: [{ parts: [{ fileData: { fileUri: url } }] }] }, policy),
    ];
    expect(found.map((member) => member?.because)).toEqual(found.map(() => "url"));
    expect(found[0]?.param).toBe("messages.0.content.1.image_url.url");
  });

  it.each([
    "https://upload.example.org/cat.png",
    "http://upload.example.org:8080/cat.png",
    `https://bucket.s3.amazonaws.com/cat.png?X-Amz-Signature=${"a".repeat(5000)}`,
    "data:image/png;base64,iVBORw0KGgo=",
    "gs://bucket/cat.png",
    "file-abc123",
  ])("a picture at %s passes", (url) => {
    expect(refusedBodyMember(chat({ type: "image_url", image_url: { url } }), policy)).toBeUndefined();
  });

  it("a listed host inside may be named, and any JSON is walked to an end", () => {
    const listed = outboundPolicy({ allow: ["pictures.localhost"] });
    const url = "http://pictures.localhost/x.png";
    expect(refusedBodyMember(chat({ type: "image_url", image_url: { url } }), policy)?.because).toBe("url");
    expect(refusedBodyMember(chat({ type: "image_url", image_url: { url } }), listed)).toBeUndefined();
    for (const body of [null, 7, "x", [], {}, { messages: null }, { messages: "x" }]) {
      expect(refusedBodyMember(body, policy)).toBeUndefined();
    }
    let deep: object = { api_base: "x" };
    for (let level = 0; level < 5_000; level += 1) deep = { x: deep };
    expect(refusedBodyMember(deep, policy)).toBeUndefined();
    expect(refusedBodyMember({ input: Array.from({ length: 300_000 }, () => 1) }, policy)).toBeUndefined();
    const wide = { messages: Array.from({ length: 200_001 }, () => "") };
    expect(refusedBodyMember(wide, policy)?.because).toBe("url");
  });
});
