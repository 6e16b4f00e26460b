/** The pure rules: issuers, claims, scopes, entitlement, end users. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { saveTokenIssuerInput } from "@/lib/contracts/token-issuers";
import { KEY_SCOPES } from "@/lib/domain/key-scopes";
import type { ConsumerDocument } from "@/lib/domain/snapshot";
import { tokenIssuerDocument } from "@/lib/domain/snapshot";
import { BoundedCache } from "./bounded-cache";
import { endUserId, endUserName } from "./end-user";
import { attribute } from "./entitlement";
import type { TokenIssuer } from "./issuer";
import { issuerRegistry, SIGNATURE_ALGORITHMS, tokenIssuerSchema } from "./issuer";
import { mayUseRoute, scopeOfRoute, unknownScopes } from "./scopes";
import { tokenFromClaims } from "./verified-token";

const jwks = (facts: object = {}): TokenIssuer =>
  tokenIssuerSchema.parse({
    kind: "jwks",
    id: "iss_1",
    organisationId: "acme01",
    issuer: "https://login.acme.example/",
    audiences: ["spillway"],
    jwksUrl: "https://login.acme.example/keys",
    claims: { consumer: ["azp"] },
    trafficClass: "general",
    ...facts,
  });
const opaque = (facts: object = {}): TokenIssuer =>
  tokenIssuerSchema.parse({
    ...jwks(),
    kind: "introspection",
    introspectionUrl: "https://i.example/",
    clientId: "c",
    ...facts,
  });

describe("issuers", () => {
  it("belong to one organisation: the second claim of an issuer or a prefix is refused", () => {
    expect(() => issuerRegistry([jwks(), jwks({ id: "iss_2", organisationId: "other1" })])).toThrow(
      /one organisation/u,
    );
    const prefixed = (issuer: string, tokenPrefix: string) => opaque({ id: issuer, issuer, tokenPrefix });
    expect(() => issuerRegistry([prefixed("a", "at_"), prefixed("b", "at_")])).toThrow(/one organisation/u);
    const registry = issuerRegistry([prefixed("a", ""), prefixed("b", "at_"), prefixed("c", "at_x_"), jwks()]);
    expect(["at_x_1", "at_1", "zz"].map((token) => registry.forOpaqueToken(token)?.id)).toEqual(["c", "b", "a"]);
    expect(registry.byIssuer("https://login.acme.example/")?.id).toBe("iss_1");
    expect(registry.byIssuer("https://login.acme.example")).toBeUndefined();
  });

  it("may be kept with each signature algorithm that is trusted, and with no other", () => {
    const input = (algorithm: string) => ({
      ...{ kind: "jwks", name: "Login", issuer: "i", audiences: ["a"], jwksUrl: "https://login.example/keys" },
      ...{ claims: { consumer: ["azp"] }, algorithms: [algorithm] },
    });
    const isKept = (algorithm: string) => saveTokenIssuerInput.safeParse(input(algorithm)).success;
    expect(SIGNATURE_ALGORITHMS.filter((algorithm) => !isKept(algorithm))).toEqual([]);
    expect(["none", "HS256", "HS512"].filter(isKept)).toEqual([]);
  });

  it("that the control plane publishes are trusted as they stand, with nothing lost", () => {
    for (const issuer of [jwks(), opaque({ tokenPrefix: "oat_" })]) {
      const published = tokenIssuerDocument.parse({ ...issuer, secretBox: null });
      expect(tokenIssuerSchema.parse(published)).toEqual(issuer);
    }
  });

  it.each(["none", "HS256", "HS512", "rs256", "RSA1_5"])("the algorithm %s cannot be configured", (algorithm) => {
    expect(() => jwks({ algorithms: [algorithm] })).toThrow();
    expect(SIGNATURE_ALGORITHMS).not.toContain(algorithm);
  });

  it("an issuer without audience, algorithm or consumer claim cannot be configured", () => {
    expect(() => jwks({ audiences: [] })).toThrow();
    expect(() => jwks({ algorithms: [] })).toThrow();
    expect(() => jwks({ claims: { consumer: [] } })).toThrow();
    expect(() => jwks({ clockToleranceSeconds: 3600 })).toThrow();
  });
});

describe("claims", () => {
  const proof = { expiresAtMs: 1, tokenHash: "h" };
  const map = (claims: object, facts: object = {}) => tokenFromClaims(jwks(facts), claims as never, proof);

  it("name consumer, user and scopes by stated paths, dots and all", () => {
    const claims = { "https://acme.example/cost.centre": { app: "hr-bot" }, sub: "u1", scp: "chat models" };
    const paths = { consumer: ["https://acme.example/cost.centre", "app"], user: ["sub"], scopes: ["scp"] };
    expect(map(claims, { claims: paths, consumers: { "hr-bot": "con_1" } })).toMatchObject({
      ok: true,
      organisationId: "acme01",
      consumerId: "con_1",
      user: "u1",
      scopes: ["chat", "models"],
    });
  });

  it.each([[{}], [{ azp: "" }], [{ azp: 7 }], [{ azp: ["con_1"] }], [{ azp: null }], [{ azp: "x".repeat(257) }]])(
    "%j name no consumer",
    (claims) => {
      expect(map(claims)).toEqual({ ok: false, reason: "claims_missing" });
    },
  );

  it("names of every object's own machinery are no claims and no consumers", () => {
    expect(map({}, { claims: { consumer: ["constructor", "name"] } }).ok).toBe(false);
    expect(map({ azp: "toString" }, { consumers: { a: "con_1" } }).ok).toBe(false);
    expect(map({ azp: "__proto__" }, { consumers: { a: "con_1" } }).ok).toBe(false);
  });

  it("a scope claim of the wrong type grants nothing; no mapping limits nothing", () => {
    const scopes = { claims: { consumer: ["azp"], scopes: ["scp"] } };
    expect(map({ azp: "a", scp: 7 }, scopes)).toMatchObject({ scopes: [] });
    expect(map({ azp: "a" }, scopes)).toMatchObject({ scopes: [] });
    expect(map({ azp: "a", scp: ["chat", 7, ""] }, scopes)).toMatchObject({ scopes: ["chat"] });
    expect(map({ azp: "a" })).toMatchObject({ scopes: null });
  });
});

describe("scopes", () => {
  it.each([
    ["chat/completions", "chat"],
    ["completions", "chat"],
    ["messages", "chat"],
    ["messages/count_tokens", "chat"],
    ["messages/batches", "batches"],
    ["messages/batches/b1/results", "batches"],
    ["responses", "responses"],
    ["responses/r1/cancel", "responses"],
    ["embeddings", "embeddings"],
    ["images/generations", "images"],
    ["images/edits", "images"],
    ["audio/transcriptions", "audio"],
    ["audio/speech", "audio"],
    ["moderations", "moderations"],
    ["rerank", "rerank"],
    ["files/f1/content", "files"],
    ["batches", "batches"],
    ["models", "models"],
    ["models/gpt-x", "models"],
    ["models/gemini-x:generateContent", "chat"],
    ["models/gemini-x:streamGenerateContent", "chat"],
    ["models/gemini-x:embedContent", "embeddings"],
    ["models/gemini-x:constructor", "passthrough"],
    ["chatty/completions", "passthrough"],
    ["filesystem", "passthrough"],
    ["", "passthrough"],
    ["me", null],
    ["me/usage", null],
    ["deferred/d1", null],
  ])("%s wants %s", (route, scope) => {
    expect(scopeOfRoute(route)).toBe(scope);
  });

  it("open what they name, and an unlimited key opens all", () => {
    expect(mayUseRoute(["chat"], "chat/completions", true)).toBe(true);
    expect(mayUseRoute(["chat"], "embeddings", true)).toBe(false);
    expect(mayUseRoute(["openid", "profile"], "chat/completions", false)).toBe(false);
    expect(mayUseRoute([], "chat/completions", true)).toBe(true);
    expect(mayUseRoute([], "chat/completions", false)).toBe(false);
    expect(mayUseRoute(null, "chat/completions", false)).toBe(true);
    expect(mayUseRoute([], "me", false)).toBe(true);
    for (const scope of KEY_SCOPES)
      expect(mayUseRoute([scope], "passthrough-of-something", true)).toBe(scope === "passthrough");
  });

  it("that do not exist are named", () => {
    expect(unknownScopes(["chat", "Chat", "admin", "*"])).toEqual(["Chat", "admin", "*"]);
  });
});

describe("X-Consumer-ID", () => {
  const consumers = new Map<string, ConsumerDocument>(
    [
      ["org", null],
      ["dep", "org"],
      ["team", "dep"],
      ["app", "team"],
      ["sibling", "team"],
      ["other", "org"],
      ["ring-a", "ring-b"],
      ["ring-b", "ring-a"],
    ].map(([id, parentId]): [string, ConsumerDocument] => [
      id ?? "",
      {
        id: id ?? "",
        parentId: parentId ?? null,
        kind: "app",
        name: "n",
        costCentre: null,
        policyId: null,
        frozen: false,
      },
    ]),
  );
  const own = { ownId: "app", consumerIds: [], subtreeIds: [] };

  it("books on the own consumer without a wish, and never above or beside it", () => {
    expect(attribute(own, null, consumers)).toEqual({ ok: true, consumerId: "app" });
    expect(attribute(own, "app", consumers)).toEqual({ ok: true, consumerId: "app" });
    for (const wish of ["team", "dep", "org", "sibling", "other", "nobody", "", "ring-a", "x".repeat(10_000)]) {
      expect(attribute(own, wish, consumers)).toEqual({ ok: false });
    }
  });

  it("listed consumers and subtrees are open, and nothing next to them; rings end", () => {
    const listed = { ...own, consumerIds: ["other"], subtreeIds: ["dep"] };
    const open = [...consumers.keys(), "nobody"].filter((id) => attribute(listed, id, consumers).ok);
    expect(open).toEqual(["dep", "team", "app", "sibling", "other"]);
    expect(attribute({ ...own, consumerIds: ["nobody"] }, "nobody", consumers)).toEqual({ ok: false });
  });
});

describe("end users", () => {
  const from = (header: string | null, bodyUser?: unknown, bodyMetadataUserId?: unknown) =>
    endUserName({ header, bodyUser, bodyMetadataUserId });

  it("are named by header, user or metadata, in that order, in one spelling", () => {
    expect(from("Ada@Acme.example", "other")).toEqual({ ok: true, name: "ada@acme.example" });
    expect(from(null, " ＡＤＡ ")).toEqual({ ok: true, name: "ada" });
    expect(from(null, undefined, "u-1")).toEqual({ ok: true, name: "u-1" });
    expect(from(null, null, null)).toEqual({ ok: true, name: null });
  });

  it.each([[""], ["  "], [7], [{}], ["a\u0000b"], ["a\u202Eb"], ["a\u200Bb"], ["x".repeat(257)], ["\uD800"]])(
    "%j is an error, not nobody: otherwise a bad name would slip past the person's budget",
    (user) => {
      expect(from(null, user)).toMatchObject({ ok: false, param: "user" });
    },
  );

  it("have ids that carry no name and differ by organisation, application and name", () => {
    const hash = (text: string) => Buffer.from(text).toString("hex");
    const digest = (text: string) => [...hash(text)].reverse().join("").padEnd(64, "0");
    const id = endUserId({ organisationId: "a", appId: "b" }, "ada@acme.example", digest);
    expect(id).toMatch(/^eu_[0-9a-f]{32}$/u);
    expect(id).not.toContain("ada");
    // Parts cannot be shifted into one another.
    expect(endUserId({ organisationId: "a", appId: 'b","c' }, "d", hash)).not.toBe(
      endUserId({ organisationId: "a", appId: "b" }, 'c","d', hash),
    );
  });
});

describe("a bounded cache", () => {
  it("never holds more than its maximum, forgets the longest unused and ends every entry", () => {
    const cache = new BoundedCache<number>(2);
    cache.set("a", 1, 100);
    cache.set("b", 2, 100);
    expect(cache.get("a", 0)).toBe(1);
    cache.set("c", 3, 100);
    expect([cache.get("a", 0), cache.get("b", 0), cache.get("c", 0)]).toEqual([1, undefined, 3]);
    expect(cache.get("a", 100)).toBeUndefined();
    expect(cache.size).toBe(1);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(10))), (writes) => {
        const many = new BoundedCache<number>(5);
        for (const [key, untilMs] of writes) many.set(String(key), key, untilMs);
        expect(many.size).toBeLessThanOrEqual(5);
      }),
    );
  });
});
