import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apiKeyHints, composeApiKey, parseApiKey, secretFromBytes } from "./api-key";

const secret = "0123456789abcdefghijABCDEFGHIJxy";

describe("API key text", () => {
  test("tells environment and organisation of what was composed", () => {
    expect(parseApiKey(composeApiKey("production", "acme01", secret))).toEqual({
      ok: true,
      environment: "production",
      organisationId: "acme01",
    });
    expect(parseApiKey(composeApiKey("test", "acme01", secret))).toMatchObject({ environment: "test" });
  });

  test("the checksum is CRC-32: a fixed key stays valid for ever", () => {
    // The expected text was computed with zlib, not with the code under test.
    expect(composeApiKey("production", "acme01", secret)).toBe(`sw_live_acme01_${secret}4F0F18`);
  });

  test("no single changed character passes the checksum", () => {
    const key = composeApiKey("production", "acme01", secret);
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.constantFrom(..."0123456789abcxyzABCXYZ_"), (position, letter) => {
        if (key.charAt(position) === letter) return;
        expect(parseApiKey(key.slice(0, position) + letter + key.slice(position + 1)).ok).toBe(false);
      }),
    );
  });

  test.each([
    "",
    "sw_live_",
    "sk-abc",
    "sw_live_ACME_x",
    "sw_prod_acme01_" + secret + "000000",
    "sw_live_" + "a".repeat(500),
  ])("refuses %j", (text) => {
    expect(parseApiKey(text)).toEqual({ ok: false });
  });

  test("too few usable random bytes give no secret rather than a short one", () => {
    expect(secretFromBytes(new Uint8Array(40).fill(255))).toBeUndefined();
    expect(secretFromBytes(new Uint8Array(32).fill(247))).toHaveLength(32);
  });

  test("hints show four characters of the secret and the last four", () => {
    const key = composeApiKey("production", "acme01", secret);
    expect(apiKeyHints(key)).toEqual({ prefix: "sw_live_acme01_0123", lastFour: key.slice(-4) });
  });
});
