/** Tokens of a real identity provider instead of keys: who they come to, and what happens where they do not. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createConsumer } from "@/lib/control/consumers";
import { removeTokenIssuer } from "@/lib/control/token-issuers";
import { signer } from "@/lib/identity/testing/identity-provider";
import { ISSUER_INDEX } from "@/lib/redis/keys";
import { CallersBench } from "@/lib/testing/callers-bench";
import { testPrincipal } from "@/lib/testing/factories";

let callers: CallersBench;
beforeAll(async () => {
  callers = await CallersBench.start();
});
afterAll(() => callers.close());
beforeEach(() => {
  callers.reset();
});

describe("tokens of an identity provider", () => {
  it("a signed token spends as the app it names, with the person's own budget below, and says so in the ledger", async () => {
    const made = await callers.bench.organisation();
    const { organisationId, consumers } = made;
    const person = { organisationId, parentId: consumers.app, kind: "user" as const, name: "Ada" };
    const ada = (await createConsumer(callers.bench.control, testPrincipal, person)).consumer.id;
    const own = await callers.quota(made, { consumerId: ada });
    const issuer = await callers.issuerOf(made);
    const token = await issuer.token();
    expect((await callers.call(token)).status).toBe(200);
    expect((await callers.call(token)).status).toBe(200);
    expect(await callers.call(token)).toMatchObject({ status: 429, code: "USER_QUOTA_EXHAUSTED" });
    // Somebody else of the same app is not stopped by what she has spent.
    expect((await callers.call(await issuer.token({ sub: "Bob" }))).status).toBe(200);
    expect(await callers.settled(made, own)).toBe(2n);
    const path = [consumers.root, consumers.department, consumers.team, consumers.app];
    const [first, , third] = await callers.booked(made);
    expect(first).toEqual({
      app_id: consumers.app,
      api_key_id: issuer.id,
      consumer_path: [...path, ada],
      end_user: "ada",
    });
    expect(third).toMatchObject({ consumer_path: path, end_user: "bob" });
  });

  it("whatever is wrong with a token, the answer is the same as to no key at all", async () => {
    const made = await callers.bench.organisation();
    const { token } = await callers.issuerOf(made);
    const other = await callers.bench.organisation();
    const stranger = await signer("k1");
    const now = Math.floor(Date.now() / 1000);
    const iss = `https://login.${made.organisationId}.example/`;
    const wrong = [
      await token({ aud: "payroll" }),
      await token({ exp: now - 60 }),
      await token({ azp: "nobody" }),
      await token({ azp: other.consumers.app }),
      await token({ iss: "https://login.evil.example/" }),
      await token({ sub: "a\u0000b" }),
      await stranger.sign({ iss, aud: "spillway", azp: "crm", exp: now + 600 }),
      `${(await token()).slice(0, -4)}AAAA`,
      "opaque-token-of-nobody",
    ];
    const answers = await Promise.all(wrong.map((text) => callers.call(text)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 401, code: "invalid_api_key" });
    expect((await callers.call(await token())).status).toBe(200);
  });

  it("a provider that cannot be asked is a 503 to come back after, not a 401", async () => {
    const made = await callers.bench.organisation();
    callers.idp.respond = (_request, response) => response.writeHead(500).end();
    const { token } = await callers.issuerOf(made);
    const answer = await callers.call(await token());
    expect(answer).toMatchObject({ status: 503, code: "identity_provider_unavailable" });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("scopes of a token open their routes only, and an empty list opens none", async () => {
    const made = await callers.bench.organisation();
    const { token } = await callers.issuerOf(made);
    for (const scope of ["embeddings", "", "openid profile"]) {
      expect(await callers.call(await token({ scope }))).toMatchObject({ status: 403, code: "consumer_forbidden" });
    }
  });

  it("an opaque token is asked of the issuer of its prefix, with our own credentials", async () => {
    const made = await callers.bench.organisation();
    const prefix = `at${made.organisationId}_`;
    const issuer = await callers.issuerOf(made, { tokenPrefix: prefix });
    const iss = `https://login.${made.organisationId}.example/`;
    callers.idp.respond = (_request, response, body) => {
      const active = new URLSearchParams(body).get("token") === `${prefix}good`;
      response.end(JSON.stringify(active ? { active, iss, aud: "spillway", azp: "crm", scope: "chat" } : { active }));
    };
    expect((await callers.call(`${prefix}good`)).status).toBe(200);
    expect(await callers.call(`${prefix}bad`)).toMatchObject({ status: 401, code: "invalid_api_key" });
    const basic = `Basic ${Buffer.from("spillway:s3cret").toString("base64")}`;
    expect(callers.idp.calls.map(({ path, authorization }) => [path, authorization])).toEqual([
      [issuer.endpoint, basic],
      [issuer.endpoint, basic],
    ]);
  });

  it("what begins like a key of ours is shown to no provider", async () => {
    const made = await callers.bench.organisation();
    await callers.issuerOf(made, { tokenPrefix: "sw_" });
    const typo = `${made.apiKey.secret.slice(0, -1)}_`;
    expect((await callers.call(typo)).status).toBe(401);
    expect((await callers.call(`${made.apiKey.secret}x`)).status).toBe(401);
    expect(callers.idp.calls).toEqual([]);
  });

  it("an issuer is heard within a second of being trusted, and not a second longer than it is", async () => {
    const made = await callers.bench.organisation();
    const iss = `https://login.${made.organisationId}.example/`;
    const claims = { iss, aud: "spillway", azp: "crm", exp: Math.floor(Date.now() / 1000) + 600, scope: "chat" };
    const token = await callers.key.sign(claims);
    expect((await callers.call(token)).status).toBe(401);
    const issuer = await callers.issuerOf(made);
    const within = { timeout: 1_000, interval: 20 };
    await expect.poll(async () => (await callers.call(token)).status, within).toBe(200);
    await removeTokenIssuer(callers.bench.control, testPrincipal, {
      organisationId: made.organisationId,
      issuerId: issuer.id,
    });
    await expect.poll(async () => (await callers.call(token)).status, within).toBe(401);
    expect(await callers.bench.store.redis.hget(ISSUER_INDEX, issuer.id)).toBeNull();
  });

  it("an entry of the index that the organisation does not confirm opens nothing", async () => {
    const [made, other] = await Promise.all([callers.bench.organisation(), callers.bench.organisation()]);
    const iss = `https://login.${made.organisationId}.example/`;
    const entry = { organisationId: other.organisationId, issuer: iss, tokenPrefix: null };
    await callers.bench.store.redis.hset(ISSUER_INDEX, `iss_${made.organisationId}`, JSON.stringify(entry));
    await callers.bench.store.redis.hincrby(ISSUER_INDEX, "v", 1);
    const { token } = await callers.issuerOf(made);
    expect((await callers.call(await token())).status).toBe(200);
    expect(await callers.booked(other)).toEqual([]);
    await callers.bench.store.redis.hdel(ISSUER_INDEX, `iss_${made.organisationId}`);
  });

  it("two callers of one issuer do not get each other's answers under one Idempotency-Key", async () => {
    const made = await callers.bench.organisation({ policy: { answerKeepSeconds: 600 } });
    const { token } = await callers.issuerOf(made);
    const name = { "idempotency-key": "order-1" };
    expect((await callers.call(await token(), name)).status).toBe(200);
    const other = await callers.call(await token({ sub: "Bob" }), name);
    expect([other.status, other.headers.get("x-spillway-replayed")]).toEqual([200, null]);
    const again = await callers.call(await token(), name);
    expect([again.status, again.headers.get("x-spillway-replayed")]).toEqual([200, "true"]);
  });
});
