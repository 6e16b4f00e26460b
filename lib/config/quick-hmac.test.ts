import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quickHmac } from "./quick-hmac";

describe("quickHmac", () => {
  it("gives what Node's Hmac gives, for keys and texts of any length, one call after another", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.array(fc.string({ unit: "binary", maxLength: 500 }), { minLength: 1, maxLength: 5 }),
        (bytes, texts) => {
          const key = Buffer.from(bytes);
          const sign = quickHmac(key);
          for (const text of texts) expect(sign(text)).toBe(createHmac("sha256", key).update(text).digest("base64url"));
        },
      ),
    );
  });

  it("gives the published value (RFC 4231, test case 2)", () => {
    const code = Buffer.from(quickHmac(Buffer.from("Jefe"))("what do ya want for nothing?"), "base64url");
    expect(code.toString("hex")).toBe("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  });

  it("takes a text as long as its buffer", () => {
    const key = randomBytes(32);
    for (const length of [340, 341, 342, 1023, 1024, 1025])
      expect(quickHmac(key)("ü".repeat(length))).toBe(
        createHmac("sha256", key).update("ü".repeat(length)).digest("base64url"),
      );
  });
});
