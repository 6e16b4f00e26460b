import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { IdentityProvider } from "./testing/identity-provider";
import {
  CLAIMS,
  NOW,
  opaqueIssuer,
  reason,
  SECONDS,
  startIdentityProvider,
  verifierOf,
} from "./testing/identity-provider";

let idp: IdentityProvider;
beforeAll(async () => {
  idp = await startIdentityProvider();
});
afterAll(() => {
  idp.close();
});
beforeEach(() => {
  idp.calls = [];
  idp.respond = undefined;
});

describe("opaque tokens", () => {
  const active = (claims: object = {}) => {
    idp.respond = (_request, response) => response.end(JSON.stringify({ active: true, ...CLAIMS, ...claims }));
  };

  it("are asked of the provider with our credentials, once for as long as the answer is kept", async () => {
    active();
    const { verify, clock } = verifierOf([opaqueIssuer(idp.url)]);
    expect(await verify("at_secret")).toMatchObject({ ok: true, consumerId: "con_1", expiresAtMs: NOW + 600_000 });
    expect(reason(await verify("at_secret"))).toBe("ok");
    expect(idp.calls).toEqual([
      {
        path: "/introspect",
        body: "token=at_secret&token_type_hint=access_token",
        authorization: `Basic ${Buffer.from("spill+way:s%3Aecret%261").toString("base64")}`,
      },
    ]);
    clock.advance(30_000);
    await verify("at_secret");
    expect(idp.calls).toHaveLength(2);
  });

  it("two tokens that share sixty characters, or differ in their last, are two tokens", async () => {
    idp.respond = (_request, response, body) => {
      const token = new URLSearchParams(body).get("token") ?? "";
      response.end(JSON.stringify({ active: !token.endsWith("x"), ...CLAIMS, azp: `con_${token.slice(-1)}` }));
    };
    const { verify } = verifierOf([opaqueIssuer(idp.url)]);
    const shared = "a".repeat(60);
    expect(await verify(`${shared}1`)).toMatchObject({ consumerId: "con_1" });
    expect(await verify(`${shared}2`)).toMatchObject({ consumerId: "con_2" });
    expect(reason(await verify(`${shared}x`))).toBe("inactive");
    expect(await verify(`${shared}1`)).toMatchObject({ consumerId: "con_1" });
  });

  it("are never served beyond their own expiry, however fresh the answer", async () => {
    active({ exp: SECONDS + 10 });
    const { verify, clock } = verifierOf([opaqueIssuer(idp.url, { clockToleranceSeconds: 0 })]);
    expect(reason(await verify("t"))).toBe("ok");
    clock.advance(9_999);
    expect(reason(await verify("t"))).toBe("ok");
    expect(idp.calls).toHaveLength(1);
    clock.advance(1);
    expect(reason(await verify("t"))).toBe("expired");
  });

  it("that are refused are asked about again soon", async () => {
    idp.respond = (_request, response) => response.end('{"active":false}');
    const { verify, clock } = verifierOf([opaqueIssuer(idp.url)]);
    expect(reason(await verify("t"))).toBe("inactive");
    expect(reason(await verify("t"))).toBe("inactive");
    expect(idp.calls).toHaveLength(1);
    active();
    clock.advance(5_000);
    expect(reason(await verify("t"))).toBe("ok");
  });

  it("a change of the mapping or the end of an issuer bites at the next call, though the answer is remembered", async () => {
    active();
    const { verify, reconfigure } = verifierOf([opaqueIssuer(idp.url)]);
    expect(await verify("t")).toMatchObject({ consumerId: "con_1" });
    reconfigure([opaqueIssuer(idp.url, { consumers: { con_1: "con_9" } })]);
    expect(await verify("t")).toMatchObject({ consumerId: "con_9" });
    reconfigure([opaqueIssuer(idp.url, { audiences: ["elsewhere"] })]);
    expect(reason(await verify("t"))).toBe("wrong_audience");
    reconfigure([]);
    expect(reason(await verify("t"))).toBe("unknown_issuer");
    expect(idp.calls).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ["of another issuer", { iss: "https://other.example/" }, "wrong_issuer"],
    ["of another audience", { aud: ["payroll"] }, "wrong_audience"],
    ["without audience", { aud: undefined }, "wrong_audience"],
    ["expired", { exp: SECONDS - 31 }, "expired"],
    ["not valid yet", { nbf: SECONDS + 31 }, "not_yet_valid"],
    ["active by text", { active: "true" }, "unavailable"],
    ["active by number", { active: 1 }, "unavailable"],
  ])("%s are refused", async (_name, claims, expected) => {
    active(claims);
    expect(reason(await verifierOf([opaqueIssuer(idp.url)]).verify("t"))).toBe(expected);
  });

  it("a provider that is slow, failing or refuses us is unavailable, and that is not remembered", async () => {
    const { verify } = verifierOf([opaqueIssuer(idp.url)], { introspection: { timeoutMs: 50 } });
    idp.respond = () => undefined;
    expect(reason(await verify("t"))).toBe("unavailable");
    idp.respond = (_request, response) => response.writeHead(401).end();
    expect(reason(await verify("t"))).toBe("unavailable");
    idp.respond = (_request, response) => response.writeHead(302, { location: `${idp.url}/elsewhere` }).end();
    expect(reason(await verify("t"))).toBe("unavailable");
    active();
    expect(reason(await verify("t"))).toBe("ok");
    expect(idp.calls.filter((call) => call.path !== "/introspect")).toEqual([]);
  });

  it("a flood of made-up tokens asks no more at once than the bound; one token under way is asked once", async () => {
    const waiting: ServerResponse[] = [];
    idp.respond = (_request, response) => waiting.push(response);
    const { verify } = verifierOf([opaqueIssuer(idp.url)], { introspection: { maxAtOnce: 4 } });
    const flood = Array.from({ length: 40 }, (_, n) => verify(`made-up-${n}`));
    const again = verify("made-up-0");
    await expect.poll(() => waiting.length).toBe(4);
    expect((await Promise.all(flood.slice(4))).every((verdict) => reason(verdict) === "unavailable")).toBe(true);
    for (const response of waiting) response.end('{"active":false}');
    expect((await Promise.all([...flood.slice(0, 4), again])).every((verdict) => reason(verdict) === "inactive")).toBe(
      true,
    );
    expect(idp.calls).toHaveLength(4);
  });
});
