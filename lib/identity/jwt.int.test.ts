import { createHmac } from "node:crypto";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { IdentityProvider, Signer } from "./testing/identity-provider";
import {
  CLAIMS,
  ISSUER,
  jwksIssuer,
  NOW,
  opaqueIssuer,
  reason,
  SECONDS,
  signer,
  startIdentityProvider,
  verifierOf,
} from "./testing/identity-provider";

let idp: IdentityProvider;
let first: Signer;
let second: Signer;
let rsa: Signer;
let stranger: Signer;
beforeAll(async () => {
  idp = await startIdentityProvider();
  [first, second, rsa, stranger] = await Promise.all([signer("k1"), signer("k2"), signer("r1", "RS256"), signer("k1")]);
});
afterAll(() => {
  idp.close();
});
beforeEach(() => {
  idp.calls = [];
  idp.respond = undefined;
  idp.keys = [first.publicJwk, rsa.publicJwk];
});

describe("signed tokens", () => {
  it("of a published key come to the caller they name", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    for (const key of [first, rsa]) {
      expect(await verify(await key.sign(CLAIMS))).toMatchObject({
        ok: true,
        organisationId: "acme01",
        consumerId: "con_1",
        user: "ada",
        scopes: ["chat"],
        expiresAtMs: NOW + 600_000,
      });
    }
    expect(idp.calls).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ["of another audience", { aud: "payroll" }, "wrong_audience"],
    ["without audience", { aud: undefined }, "wrong_audience"],
    ["of an unknown issuer", { iss: "https://login.evil.example/" }, "unknown_issuer"],
    ["without issuer", { iss: undefined }, "unknown_issuer"],
    ["that expired beyond the tolerance", { exp: SECONDS - 31 }, "expired"],
    ["without expiry", { exp: undefined }, "claims_missing"],
    ["not valid yet", { nbf: SECONDS + 31 }, "not_yet_valid"],
    ["without consumer", { azp: undefined }, "claims_missing"],
    ["with an expiry that is no number", { exp: "never" }, "claims_missing"],
  ])("%s are refused", async (_name, changed, expected) => {
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    const claims = Object.fromEntries(
      Object.entries({ ...CLAIMS, ...changed }).filter(([, value]) => value !== undefined),
    );
    expect(reason(await verify(await first.sign(claims as JWTPayload)))).toBe(expected);
  });

  it("within the clock tolerance pass", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    expect(reason(await verify(await first.sign({ ...CLAIMS, exp: SECONDS - 29, nbf: SECONDS + 29 })))).toBe("ok");
  });

  it("without signature or signed with the public key as a secret are refused unread", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = `${part({ alg: "none" })}.${part(CLAIMS)}.`;
    const head = `${part({ alg: "HS256", kid: "r1" })}.${part(CLAIMS)}`;
    const mac = createHmac("sha256", JSON.stringify(rsa.publicJwk)).update(head).digest("base64url");
    const [, body, signature] = (await first.sign(CLAIMS)).split(".");
    expect(reason(await verify(unsigned))).toBe("unknown_issuer");
    expect(reason(await verify(`${part({ alg: "none" })}.${part(CLAIMS)}.AAAA`))).toBe("algorithm_not_allowed");
    expect(reason(await verify(`${head}.${mac}`))).toBe("algorithm_not_allowed");
    expect(reason(await verify(`${part({ alg: "RS256", kid: "k1" })}.${body ?? ""}.${signature ?? ""}`))).not.toBe(
      "ok",
    );
    expect(idp.calls.length).toBeLessThanOrEqual(1);
  });

  it("of an algorithm the issuer does not use are refused, though the key is published", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url, { algorithms: ["RS256"] })]);
    expect(reason(await verify(await first.sign(CLAIMS)))).toBe("algorithm_not_allowed");
    expect(idp.calls).toHaveLength(0);
  });

  it("signed by a stranger under a known key id, or changed by a letter, are refused", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    expect(reason(await verify(await stranger.sign(CLAIMS)))).toBe("bad_signature");
    const token = await first.sign(CLAIMS);
    const [head, , signature] = token.split(".");
    const body = Buffer.from(JSON.stringify({ ...CLAIMS, azp: "con_2" })).toString("base64url");
    expect(reason(await verify(`${head ?? ""}.${body}.${signature ?? ""}`))).toBe("bad_signature");
  });

  it("a symmetric or private key in the published set is not used", async () => {
    idp.keys = [
      { kty: "oct", k: "c2VjcmV0", kid: "k1", alg: "HS256" },
      { ...first.publicJwk, d: "AAAA" },
    ];
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    expect(reason(await verify(await first.sign(CLAIMS)))).toBe("unknown_key");
  });

  it("a new key is found at its first use; made-up key ids ask once within the cool-down", async () => {
    const { verify, clock } = verifierOf([jwksIssuer(idp.url)]);
    expect(reason(await verify(await first.sign(CLAIMS)))).toBe("ok");
    idp.keys = [first.publicJwk, second.publicJwk];
    expect(reason(await verify(await second.sign(CLAIMS)))).toBe("unknown_key");
    clock.advance(30_000);
    expect(reason(await verify(await second.sign(CLAIMS)))).toBe("ok");
    expect(idp.calls).toHaveLength(2);
    const forged = await Promise.all(
      Array.from({ length: 50 }, (_, n) => stranger.sign(CLAIMS, { kid: `made-up-${n}` })),
    );
    const verdicts = await Promise.all(forged.map(verify));
    expect(new Set(verdicts.map(reason))).toEqual(new Set(["unknown_key"]));
    expect(idp.calls).toHaveLength(2);
    clock.advance(30_000);
    await Promise.all(forged.map(verify));
    expect(idp.calls).toHaveLength(3);
  });

  it("a withdrawn key stops working when the set is read again", async () => {
    const { verify, clock } = verifierOf([jwksIssuer(idp.url)], { jwks: { maxAgeMs: 60_000 } });
    const token = await first.sign({ ...CLAIMS, exp: SECONDS + 90_000 });
    expect(reason(await verify(token))).toBe("ok");
    idp.keys = [second.publicJwk];
    clock.advance(120_000);
    expect(reason(await verify(token))).toBe("unknown_key");
  });

  it("known keys outlive a provider that is away, for a bounded time, without asking at every token", async () => {
    const { verify, clock } = verifierOf([jwksIssuer(idp.url)], { jwks: { maxStaleMs: 3_600_000 } });
    const token = await first.sign({ ...CLAIMS, exp: SECONDS + 90_000 });
    expect(reason(await verify(token))).toBe("ok");
    idp.respond = (_request, response) => response.writeHead(500).end("down");
    clock.advance(30 * 60_000);
    for (let count = 0; count < 5; count += 1) expect(reason(await verify(token))).toBe("ok");
    expect(idp.calls).toHaveLength(2);
    clock.advance(3_600_000);
    expect(reason(await verify(token))).toBe("unavailable");
  });

  it.each<[string, string]>([
    ["no JSON", "<html>"],
    ["no key set", '{"keys":"none"}'],
    ["more than it may send", `{"keys":[],"x":"${"x".repeat(300_000)}"}`],
    ["too many keys", JSON.stringify({ keys: Array.from({ length: 101 }, () => ({ kty: "EC" })) })],
  ])("a provider that answers %s is unavailable, not wrong", async (_name, text) => {
    idp.respond = (_request, response) => response.end(text);
    const { verify } = verifierOf([jwksIssuer(idp.url)]);
    expect(reason(await verify(await first.sign(CLAIMS)))).toBe("unavailable");
  });

  it("keys are not fetched from where the operator has not opened the way", async () => {
    const { verify } = verifierOf([jwksIssuer(idp.url)], { allow: [] });
    expect(reason(await verify(await first.sign(CLAIMS)))).toBe("unavailable");
    expect(idp.calls).toHaveLength(0);
  });
});

describe("any token", () => {
  it.each([
    "",
    " ",
    "' or 1=1 --",
    "a.b.c",
    "..",
    "eyJ.eyJ.x",
    "Bearer x",
    "a\r\nb",
    "a\u0000b",
    "💰",
    "%_%_%",
    "x".repeat(8193),
    `${"x".repeat(3000)}.${"y".repeat(3000)}.z`,
    `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.${Buffer.from("[]").toString("base64url")}.AAAA`,
    `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.${Buffer.from('{"iss":{"a":1}}').toString("base64url")}.AAAA`,
    `${Buffer.from("{}").toString("base64url")}.${Buffer.from(`{"iss":"${ISSUER}"}`).toString("base64url")}.AAAA`,
  ])("%j is a refusal and no error", async (token) => {
    idp.respond = (_request, response) => response.end('{"active":false}');
    const verdict = await verifierOf([jwksIssuer(idp.url), opaqueIssuer(idp.url, { id: "o", issuer: "o" })]).verify(
      token,
    );
    expect(verdict.ok).toBe(false);
  });

  it("that names an unknown issuer is not offered to the provider of opaque tokens", async () => {
    const token = await stranger.sign({ ...CLAIMS, iss: "https://login.evil.example/" });
    expect(reason(await verifierOf([opaqueIssuer(idp.url)]).verify(token))).toBe("unknown_issuer");
    expect(idp.calls).toHaveLength(0);
  });
});

describe("a token that was proved", () => {
  it("is not proved again for half a minute, and neither its end nor a changed issuer waits for that", async () => {
    const { clock, verify, reconfigure, proved } = verifierOf([jwksIssuer(idp.url)]);
    const token = await first.sign({ ...CLAIMS, exp: SECONDS + 20 });
    expect(reason(await verify(token))).toBe("ok");
    expect(proved.size).toBe(1);
    expect(reason(await verify(token))).toBe("ok");
    expect(proved.size).toBe(1);
    // Whoever has the beginning of a token has not the token.
    const [head = "", body = "", signature = ""] = token.split(".");
    const forged = `${head}.${body}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    expect(reason(await verify(forged))).toBe("bad_signature");
    reconfigure([jwksIssuer(idp.url, { audiences: ["payroll"] })]);
    expect(reason(await verify(token))).toBe("wrong_audience");
    reconfigure([]);
    expect(reason(await verify(token))).toBe("unknown_issuer");
    reconfigure([jwksIssuer(idp.url, { claims: { consumer: ["sub"], user: null, scopes: null } })]);
    expect(await verify(token)).toMatchObject({ consumerId: "ada", user: null });
    clock.advance(51_000);
    expect(reason(await verify(token))).toBe("expired");
  });

  it("does not outlive the key that proved it by more than the key set and half a minute", async () => {
    const { clock, verify } = verifierOf([jwksIssuer(idp.url)], { jwks: { maxAgeMs: 60_000 } });
    const token = await first.sign(CLAIMS);
    expect(reason(await verify(token))).toBe("ok");
    idp.keys = [second.publicJwk];
    clock.advance(29_000);
    expect(reason(await verify(token))).toBe("ok");
    // Somebody brings a token of the new key: the set is read, and the old proofs are worth nothing.
    clock.advance(1_000);
    expect(reason(await verify(await second.sign(CLAIMS)))).toBe("ok");
    expect(reason(await verify(token))).toBe("unknown_key");
  });

  it("is all that is kept: what strangers send displaces nothing", async () => {
    const { verify, proved } = verifierOf([jwksIssuer(idp.url)]);
    await verify(await stranger.sign(CLAIMS));
    await verify("a.b.c");
    expect(proved.size).toBe(0);
  });
});
