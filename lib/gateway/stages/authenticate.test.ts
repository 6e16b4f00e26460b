import { describe, expect, it } from "vitest";
import { composeApiKey } from "@/lib/domain/api-key";
import { isDenial } from "@/lib/domain/denial";
import type { TokenVerdict } from "@/lib/identity/verified-token";
import { KnownKeys } from "../known-keys";
import { SECRET, world } from "../testing/world";
import { authenticate } from "./authenticate";

const RECEIVED = { requestId: "r", startedMs: 0, route: "x", path: "chat/completions", language: "en" } as const;
const NOBODYS = composeApiKey("production", "t0123456789a", "A".repeat(32));

function gateway(verdict: TokenVerdict = { ok: false, reason: "unknown_issuer" }) {
  const { deps } = world([]);
  const shown: string[] = [];
  const hashed: string[] = [];
  const looked: string[] = [];
  const knownKeys = new KnownKeys();
  let isRevoked = false;
  const all = {
    ...deps,
    knownKeys,
    hasher: { hash: (text: string) => (hashed.push(text), text === SECRET ? "its" : "nobodys") },
    policies: {
      ...deps.policies,
      apiKey: (organisationId: string, hash: string) => {
        looked.push(hash);
        return hash === "its" && !isRevoked ? deps.policies.apiKey(organisationId, hash) : Promise.resolve(undefined);
      },
    },
    verifyToken: (token: string) => {
      shown.push(token);
      return Promise.resolve(verdict);
    },
  };
  const call = async (key: string) => {
    const get = (name: string) => (name === "authorization" ? `Bearer ${key}` : null);
    const result = await authenticate(RECEIVED, { get }, undefined, 0, all);
    return isDenial(result) ? result.code : "in";
  };
  const revoke = () => {
    isRevoked = true;
  };
  return { call, shown, hashed, looked, knownKeys, revoke };
}

describe("keys in use", () => {
  it("a key is parsed and hashed once while it is in use, and looked up at every call", async () => {
    const { call, hashed, looked } = gateway();
    expect([await call(SECRET), await call(SECRET), await call(SECRET)]).toEqual(["in", "in", "in"]);
    expect(hashed).toEqual([SECRET]);
    expect(looked).toEqual(["its", "its", "its"]);
  });

  it("the text of a key that is nobody's is kept nowhere, and forgotten once the key is gone", async () => {
    const { call, knownKeys, revoke } = gateway();
    expect(await call(NOBODYS)).toBe("invalid_api_key");
    expect(knownKeys.get(NOBODYS)).toBeUndefined();
    await call(SECRET);
    expect(knownKeys.get(SECRET)).toBeDefined();
    revoke();
    expect(await call(SECRET)).toBe("invalid_api_key");
    expect(knownKeys.get(SECRET)).toBeUndefined();
  });
});

describe("what is no key of ours", () => {
  it("goes to the verifier, unless it begins like a key of ours", async () => {
    const { call, shown } = gateway();
    for (const text of ["sw_live_", `${SECRET}x`, "sw_anything", NOBODYS])
      expect(await call(text)).toBe("invalid_api_key");
    expect(shown).toEqual([]);
    expect(await call("eyJ.a.b")).toBe("invalid_api_key");
    expect(shown).toEqual(["eyJ.a.b"]);
  });

  it.each([
    "malformed",
    "unknown_issuer",
    "bad_signature",
    "expired",
    "wrong_audience",
    "inactive",
    "claims_missing",
  ] as const)("refused as %s it looks like any unknown key", async (reason) => {
    expect(await gateway({ ok: false, reason }).call("token")).toBe("invalid_api_key");
  });

  it("of a provider that cannot be asked it is to come again", async () => {
    expect(await gateway({ ok: false, reason: "unavailable" }).call("token")).toBe("identity_provider_unavailable");
  });

  it("of a consumer that the organisation does not have it opens nothing", async () => {
    const proved = (consumerId: string): TokenVerdict => ({
      ok: true,
      ...{ organisationId: "t0123456789a", issuerId: "iss", consumerId, user: null, scopes: null, tokenHash: "" },
      ...{ trafficClass: "general", entitledClasses: [], expiresAtMs: 1 },
      environment: "production",
    });
    expect(await gateway(proved("app")).call("token")).toBe("in");
    expect(await gateway(proved("nobody")).call("token")).toBe("invalid_api_key");
  });
});
