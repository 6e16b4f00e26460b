import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { hashApiKey } from "./key-hash";
import { openSecret, sealSecret } from "./secret-box";

const masterKey = randomBytes(32);

test("a sealed secret opens with the same key and context only", () => {
  const box = sealSecret(masterKey, "sk-密钥", "provider:acme:prv_1");
  expect(openSecret(masterKey, box, "provider:acme:prv_1")).toBe("sk-密钥");
  expect(() => openSecret(masterKey, box, "provider:acme:prv_2")).toThrow();
  expect(() => openSecret(randomBytes(32), box, "provider:acme:prv_1")).toThrow();
});

test("any changed byte is noticed", () => {
  const box = sealSecret(masterKey, "secret", "x");
  for (let index = 0; index < box.length; index += 1) {
    const changed = Buffer.from(box);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => openSecret(masterKey, changed, "x")).toThrow();
  }
});

test("the same secret sealed twice gives two boxes", () => {
  expect(sealSecret(masterKey, "secret", "x").equals(sealSecret(masterKey, "secret", "x"))).toBe(false);
});

test("another pepper gives another hash of the same key", () => {
  expect(hashApiKey(Buffer.alloc(32, 1), "k")).toMatch(/^[0-9a-f]{64}$/u);
  expect(hashApiKey(Buffer.alloc(32, 1), "k")).not.toBe(hashApiKey(Buffer.alloc(32, 2), "k"));
});
