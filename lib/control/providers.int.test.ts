import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issuerSecretContext, openSecret } from "@/lib/config/secret-box";
import { listIssuerBoxes } from "@/lib/db/token-issuers";
import { AppError } from "@/lib/domain/fault";
import type { Principal, Role } from "@/lib/domain/role";
import { tokenIssuerDocument } from "@/lib/domain/snapshot";
import { tokenIssuerSchema } from "@/lib/identity/issuer";
import { keysOf } from "@/lib/redis/keys";
import { TEST_MASTER_KEY, createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation } from "@/lib/testing/factories";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { createOutbound } from "@/lib/wiring/outbound";
import { testProvider } from "./provider-test";
import { upsertProvider } from "./providers";
import { publishAll } from "./snapshots";
import { putTokenIssuer, removeTokenIssuer } from "./token-issuers";

let deps: TestControl;
let org: TestOrganisation;
let other: TestOrganisation;
let vendor: Server;
let origin: string;
const answers = new Map<string, { status: number; body: string }>();
const seen: { url: string; headers: IncomingHttpHeaders }[] = [];

beforeAll(async () => {
  deps = createTestControl(await testDatabaseUrl(), testRedisUrl());
  org = await createTestOrganisation(deps, { models: [] });
  other = await createTestOrganisation(deps, { models: [] });
  vendor = createServer((request, response) => {
    seen.push({ url: request.url ?? "", headers: request.headers });
    const { status, body } = answers.get(request.url ?? "") ?? { status: 404, body: "<html>no</html>" };
    response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end(body);
  });
  await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${String((vendor.address() as AddressInfo).port)}`;
});
afterAll(async () => {
  vendor.close();
  await deps.close();
});

const faultOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) =>
      error instanceof AppError ? [error.code, ...Object.keys(error.fields ?? {})].join(" ") : String(error),
  );
const person = (role: Role, organisationId = org.organisationId): Principal => ({
  userId: `usr_${role}`,
  label: role,
  memberships: [{ organisationId, consumerId: organisationId, role }],
});
let count = 0;
const account = (changes: object = {}) => ({
  organisationId: org.organisationId,
  name: `Vendor ${String((count += 1))}`,
  kind: "openai-compatible" as const,
  baseUrl: "https://vendor.example/v1",
  secret: "vendor-secret-that-is-long",
  ...changes,
});

describe("the address of an account", () => {
  test.each([
    "http://169.254.169.254/latest",
    "http://[::1]:6379/",
    "https://10.0.0.1/v1",
    "https://localhost/v1",
    "http://public.example/v1",
    "https://2130706433/v1",
    "https://user:word@vendor.example/v1",
    "file:///etc/passwd",
    "not a url",
  ])("%s is refused when it is saved", async (baseUrl) => {
    const strict = { ...deps, outbound: createOutbound([]) };
    expect(await faultOf(upsertProvider(strict, testPrincipal, account({ baseUrl })))).toBe("invalid_request baseUrl");
  });

  test("in the house is taken where the operator's list names it", async () => {
    const baseUrl = "http://vllm.internal:8000/v1";
    const strict = { ...deps, outbound: createOutbound([]) };
    expect(await faultOf(upsertProvider(strict, testPrincipal, account({ baseUrl })))).toBe("invalid_request baseUrl");
    const open = { ...deps, outbound: createOutbound(["vllm.internal:8000"]) };
    expect(await faultOf(upsertProvider(open, testPrincipal, account({ baseUrl })))).toBe("done");
  });

  test("cannot be moved to another host without the secret being typed again", async () => {
    const first = account();
    await upsertProvider(deps, testPrincipal, first);
    const { secret: _secret, ...silent } = { ...first, baseUrl: "https://thief.example/v1" };
    expect(await faultOf(upsertProvider(deps, testPrincipal, silent))).toBe("invalid_request secret");
    expect(
      await faultOf(upsertProvider(deps, testPrincipal, { ...silent, baseUrl: "https://vendor.example/v2" })),
    ).toBe("done");
    expect(await faultOf(upsertProvider(deps, testPrincipal, { ...silent, secret: "another-long-secret" }))).toBe(
      "done",
    );
  });

  test("and its kind must be one the gateway speaks", async () => {
    expect(await faultOf(upsertProvider(deps, testPrincipal, account({ kind: "gopher" })))).toBe(
      "invalid_request kind",
    );
  });
});

describe("a connection test", () => {
  const tested = async (changes: object) => {
    const { provider } = await upsertProvider(deps, testPrincipal, account({ baseUrl: `${origin}/v1`, ...changes }));
    const ref = { organisationId: org.organisationId, providerId: provider.id };
    return testProvider(deps, person("engineer"), ref);
  };
  const says = (url: string, status: number, body: unknown) =>
    answers.set(url, { status, body: typeof body === "string" ? body : JSON.stringify(body) });

  test.each([
    ["openai", "/v1", "/v1/models", "authorization", "Bearer vendor-secret-that-is-long"],
    ["anthropic", "", "/v1/models", "x-api-key", "vendor-secret-that-is-long"],
    ["azure", "/openai", "/openai/models?api-version=2024-10-21", "api-key", "vendor-secret-that-is-long"],
    ["gemini", "/v1beta", "/v1beta/models", "x-goog-api-key", "vendor-secret-that-is-long"],
  ])("asks %s in its own style", async (kind, path, url, header, value) => {
    says(url, 200, kind === "gemini" ? { models: [{ name: "models/a" }] } : { data: [{ id: "a" }] });
    seen.length = 0;
    expect(await tested({ kind, baseUrl: origin + path })).toEqual({
      ...{ result: "ok", reason: null, detail: "HTTP 200", models: ["a"] },
    });
    expect(seen[0]?.url).toBe(url);
    expect(seen[0]?.headers[header]).toBe(value);
  });

  test("names the models of an Ollama without a secret", async () => {
    says("/api/tags", 200, { models: [{ name: "qwen3:8b" }] });
    const result = await tested({ kind: "ollama", baseUrl: origin });
    expect(result.models).toEqual(["qwen3:8b"]);
    expect(seen.at(-1)?.headers["authorization"]).toBeUndefined();
  });

  test.each([
    ["auth", 401, { error: { message: "Incorrect API key vendor-secret-that-is-long" } }],
    ["auth", 403, "denied"],
    ["auth", 400, { error: { details: [{ reason: "API_KEY_INVALID" }] } }],
    ["busy", 429, { error: {} }],
    ["busy", 503, { error: {} }],
    ["unlisted", 404, { error: { code: "NotFound" } }],
    ["not_an_api", 404, "<html></html>"],
    ["not_an_api", 200, "<html></html>"],
    ["not_an_api", 200, { hello: "world" }],
    ["not_an_api", 200, { data: [1, 2] }],
    ["not_an_api", 302, ""],
    ["not_an_api", 502, "<html>Bad gateway</html>"],
  ])("tells %s from HTTP %i, and repeats nothing of the answer", async (result, status, body) => {
    says("/v1/models", status, body);
    const answer = await tested({});
    expect(answer).toEqual({ result, reason: null, detail: `HTTP ${status}`, models: [] });
  });

  test("tells an address that nobody serves from one that may not be called", async () => {
    expect(await tested({ baseUrl: "http://127.0.0.1:1/v1" })).toMatchObject({ result: "network", detail: "connect" });
    const { provider } = await upsertProvider(deps, testPrincipal, account({ baseUrl: `${origin}/v1` }));
    const ref = { organisationId: org.organisationId, providerId: provider.id };
    seen.length = 0;
    const answer = await testProvider({ ...deps, outbound: createOutbound([]) }, testPrincipal, ref);
    expect(answer).toMatchObject({ result: "refused_address", reason: "url_loopback", models: [] });
    expect(seen).toEqual([]);
  });

  test("is for those who may change the account, in their own organisation", async () => {
    const { provider } = await upsertProvider(deps, testPrincipal, account({ baseUrl: `${origin}/v1` }));
    const ref = { organisationId: org.organisationId, providerId: provider.id };
    expect(await faultOf(testProvider(deps, person("developer"), ref))).toBe("not_found");
    expect(await faultOf(testProvider(deps, person("owner", other.organisationId), ref))).toBe("not_found");
    const foreign = { organisationId: other.organisationId, providerId: provider.id };
    expect(await faultOf(testProvider(deps, person("owner", other.organisationId), foreign))).toBe("not_found");
  });
});

describe("token issuers", () => {
  const jwks = (changes: object = {}) => ({
    organisationId: org.organisationId,
    kind: "jwks" as const,
    name: `Login ${String((count += 1))}`,
    issuer: `https://login-${String(count)}-${org.organisationId}.example/`,
    audiences: ["spillway"],
    jwksUrl: "https://login.example/keys",
    claims: { consumer: ["azp"] },
    ...changes,
  });
  const opaque = (changes: object = {}) => {
    const { jwksUrl: _url, ...rest } = jwks();
    const own = {
      kind: "introspection" as const,
      introspectionUrl: "https://login.example/introspect",
      clientId: "sw",
    };
    return { ...rest, ...own, tokenPrefix: `oat${String(count)}_`, clientSecret: "a client secret", ...changes };
  };
  const fieldOf = async (id: string, organisationId = org.organisationId) =>
    deps.redis.hget(keysOf(organisationId).snapshot, `t:${id}`);

  test("stand in the snapshot as identity trusts them, with the client secret sealed for its row", async () => {
    const { issuer } = await putTokenIssuer(deps, testPrincipal, opaque());
    const text = (await fieldOf(issuer.id)) ?? "";
    expect(text).not.toContain("a client secret");
    const document = tokenIssuerDocument.parse(JSON.parse(text));
    expect(tokenIssuerSchema.parse(document)).toMatchObject({ id: issuer.id, organisationId: org.organisationId });
    const box = (await listIssuerBoxes(deps.db.prisma, org.organisationId)).get(issuer.id) ?? "";
    expect(document.secretBox).toBe(box);
    const opened = openSecret(
      TEST_MASTER_KEY,
      Buffer.from(box, "base64"),
      issuerSecretContext(org.organisationId, issuer.id),
    );
    expect(opened).toBe("a client secret");
  });

  test("leave the snapshot when they are disabled or removed, and a whole push brings back those in use", async () => {
    const kept = jwks();
    const { issuer } = await putTokenIssuer(deps, testPrincipal, kept);
    const ref = { organisationId: org.organisationId, issuerId: issuer.id };
    await putTokenIssuer(deps, testPrincipal, { ...kept, disabled: true });
    expect(await fieldOf(issuer.id)).toBeNull();
    await putTokenIssuer(deps, testPrincipal, kept);
    await deps.redis.hdel(keysOf(org.organisationId).snapshot, `t:${issuer.id}`);
    await publishAll(deps, org.organisationId, { force: true });
    expect(await fieldOf(issuer.id)).not.toBeNull();
    await removeTokenIssuer(deps, testPrincipal, ref);
    expect(await fieldOf(issuer.id)).toBeNull();
    expect(await faultOf(removeTokenIssuer(deps, testPrincipal, ref))).toBe("not_found");
  });

  test("of one iss, or one token prefix, belong to one organisation", async () => {
    const first = jwks();
    await putTokenIssuer(deps, testPrincipal, first);
    const theirs = { ...first, organisationId: other.organisationId };
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, theirs))).toBe("conflict issuer");
    const prefixed = opaque();
    await putTokenIssuer(deps, testPrincipal, prefixed);
    const again = opaque({ organisationId: other.organisationId, tokenPrefix: prefixed.tokenPrefix });
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, again))).toBe("conflict issuer");
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, first))).toBe("done");
  });

  test.each([
    ["jwksUrl", { jwksUrl: "http://169.254.169.254/keys" }],
    ["algorithms.0", { algorithms: ["HS256"] }],
    ["audiences", { audiences: [] }],
    ["consumers", { consumers: { "hr-bot": "con_nobody" } }],
    ["clockToleranceSeconds", { clockToleranceSeconds: Number.NaN }],
    ["claims.consumer", { claims: { consumer: [] } }],
  ])("with a wrong %s are refused", async (field, changes) => {
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, jwks(changes)))).toBe(`invalid_request ${field}`);
  });

  test("name no consumer of another organisation, and need a secret for a new host", async () => {
    const foreign = jwks({ consumers: { bot: other.consumers.app } });
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, foreign))).toBe("invalid_request consumers");
    const { clientSecret, ...bare } = opaque();
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, bare))).toBe("invalid_request clientSecret");
    await putTokenIssuer(deps, testPrincipal, { ...bare, clientSecret });
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, bare))).toBe("done");
    const moved = { ...bare, introspectionUrl: "https://thief.example/i" };
    expect(await faultOf(putTokenIssuer(deps, testPrincipal, moved))).toBe("invalid_request clientSecret");
  });

  test("are changed by owners and engineers only", async () => {
    expect(await faultOf(putTokenIssuer(deps, person("lead"), jwks()))).toBe("not_found");
    expect(await faultOf(putTokenIssuer(deps, person("owner", other.organisationId), jwks()))).toBe("not_found");
    expect(await faultOf(putTokenIssuer(deps, person("engineer"), jwks()))).toBe("done");
  });
});
