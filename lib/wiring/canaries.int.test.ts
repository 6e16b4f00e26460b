/**
 * litellm incident of 18 March 2026, new-api#6306: secrets and texts of calls in logs, traces and error bodies. Values that nothing else
 * produces are planted wherever secrets and prompts are, everything is driven that the gateway and the worker do, and then all that
 * they keep and say is searched: Redis, Postgres, logs, metrics, error bodies, the console's answers.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readApiKeys } from "@/lib/console/keys";
import { readPolicies } from "@/lib/console/policies";
import { readDeferredCalls } from "@/lib/console/deferred-calls";
import type { ConsolePrincipal } from "@/lib/console/principal";
import { readProviders } from "@/lib/console/providers";
import { readRequest, readRequests } from "@/lib/console/requests";
import { readTokenIssuers } from "@/lib/console/token-issuers";
import { readWebhooks } from "@/lib/console/webhooks";
import { withIdempotencyKey } from "@/lib/control/idempotency";
import { publishPolicyVersion } from "@/lib/control/policies";
import { upsertProvider } from "@/lib/control/providers";
import { putTokenIssuer } from "@/lib/control/token-issuers";
import { createUser } from "@/lib/control/users";
import { replaceSecretOfWebhooks } from "@/lib/control/webhook-secrets";
import { listOrganisations } from "@/lib/db/console-consumers";
import type { IdentityProvider } from "@/lib/identity/testing/identity-provider";
import { signer, startIdentityProvider } from "@/lib/identity/testing/identity-provider";
import { keysOf } from "@/lib/redis/keys";
import type { Child } from "@/lib/services/child";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { canariesIn, canary, databaseDump, redisDump } from "@/lib/testing/canaries";
import type { TestOrganisation } from "@/lib/testing/factories";
import { TEST_MASTER_KEY, TEST_PEPPER, testPrincipal } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import type { WebhookReceiver } from "@/lib/testing/webhook-receiver";
import { startWebhookReceiver } from "@/lib/testing/webhook-receiver";
import type { ConsoleServices } from "./console";
import { createConsoleServices } from "./console";

// It throws outside a React server, where the console's reads are tested.
vi.mock("server-only", () => ({}));

const ROOT = join(import.meta.dirname, "../..");

const PLANTED = {
  provider: `sandbox-${canary("Provider")}`,
  issuer: canary("Issuer"),
  opaqueToken: canary("Opaque"),
  password: canary("Password"),
  prompt: canary("Prompt"),
  webhookUrl: canary("Url"),
  strangersKey: canary("Stranger"),
};
/** With what is made in the course of the test: a key, a token's signature, a webhook secret, the installation's own keys. */
const canaries: Record<string, string> = { ...PLANTED };
/** What a caller sends may come back to the caller, and nothing else may. */
const OWN = new Set(["prompt"]);

let bench: TestBench;
let idp: IdentityProvider;
let receiver: WebhookReceiver;
let gateway: Child;
let worker: Child;
let url: string;
let workerUrl: string;
let made: TestOrganisation;
let poor: TestOrganisation;
let jwt: string;
let consoleServices: ConsoleServices;
/** Bodies and headers of all answers. */
const answers: string[] = [];

interface Call {
  readonly secret?: string;
  readonly headers?: Record<string, string>;
  readonly control?: Record<string, unknown>;
  readonly body?: Record<string, unknown> | string;
  readonly path?: string;
  readonly method?: string;
}

async function call(options: Call = {}): Promise<{ status: number; text: string }> {
  const { control, body, path = "chat/completions", method = "POST" } = options;
  const messages = [{ role: "user", content: PLANTED.prompt }];
  const sent =
    typeof body === "string"
      ? body
      : JSON.stringify({ model: "sandbox-small", max_tokens: 32, messages, sandbox: control ?? {}, ...body });
  const response = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${options.secret ?? made.apiKey.secret}`, ...options.headers },
    ...(method === "POST" ? { body: sent } : {}),
  });
  const text = await response.text().catch(() => "broken off");
  answers.push(JSON.stringify([...response.headers]), text);
  return { status: response.status, text };
}

const common = {
  NODE_ENV: "production" as const,
  LOG_LEVEL: "trace",
  SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
  SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
  SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
};

function start(name: string, file: string, env: Record<string, string>): Child {
  const logFile = join(throwAwayFolder("spillway-canaries"), `${name}.log`);
  const args = ["--import", "tsx", join(ROOT, file)];
  return startChild({ name, command: process.execPath, args, cwd: ROOT, logFile, env: { ...common, ...env } });
}

async function plantSecrets(): Promise<void> {
  const { control } = bench;
  const { organisationId, consumers } = made;
  await upsertProvider(control, testPrincipal, {
    ...{ organisationId, name: "Sandbox", kind: "sandbox", baseUrl: `${bench.sandbox.url}/v1` },
    ...{ secret: PLANTED.provider, isExternal: false, billingMode: "request" },
  });
  const mapping = { audiences: ["spillway"], claims: { consumer: ["azp"] }, consumers: { crm: consumers.app } };
  const issuer = `https://login.${organisationId}.example/`;
  await putTokenIssuer(control, testPrincipal, {
    ...{ organisationId, name: "signed", issuer, kind: "jwks", jwksUrl: `${idp.url}/keys` },
    ...mapping,
  });
  await putTokenIssuer(control, testPrincipal, {
    ...{ organisationId, name: "opaque", issuer: `${issuer}opaque`, kind: "introspection", clientId: "spillway" },
    ...{ introspectionUrl: `${idp.url}/introspect`, clientSecret: PLANTED.issuer, tokenPrefix: "canaryOpaque" },
    ...mapping,
  });
  const key = await signer("k1");
  idp.keys = [key.publicJwk];
  jwt = await key.sign({
    iss: issuer,
    aud: "spillway",
    azp: "crm",
    sub: "ada",
    exp: Math.floor(Date.now() / 1000) + 600,
  });
  await createUser(control, testPrincipal, {
    ...{ organisationId, consumerId: organisationId, role: "developer", locale: "en" },
    ...{ email: `ada@${organisationId}.example`, name: "Ada", password: PLANTED.password },
  });
  // Under an Idempotency-Key: the answer that is kept for a repetition has the secret in it.
  const named = withIdempotencyKey(control, organisationId, {});
  const { secret } = await replaceSecretOfWebhooks(named, testPrincipal, { organisationId });
  canaries["webhookSecret"] = secret.slice("whsec_".length, -1);
  const document = {
    answerKeepSeconds: 600,
    deferral: { deadlineSeconds: 600, keepSeconds: 600, webhook: { hosts: ["127.0.0.1"] } },
  };
  await publishPolicyVersion(control, testPrincipal, { organisationId, policyId: made.policyId ?? "", document });
}

beforeAll(async () => {
  const { url: redisUrl } = await startPrivateRedis();
  const databaseUrl = await testDatabaseUrl();
  bench = await startTestBench(databaseUrl, redisUrl);
  [idp, receiver] = await Promise.all([startIdentityProvider(), startWebhookReceiver()]);
  made = await bench.organisation({ policy: {} });
  poor = await bench.organisation({ budgets: { organisation: 1n } });
  await plantSecrets();
  canaries["apiKey"] = made.apiKey.secret.split("_").at(-1) ?? "";
  canaries["jwt"] = jwt.split(".")[2] ?? "";
  canaries["masterKey"] = TEST_MASTER_KEY.toString("base64").slice(0, -1);
  canaries["pepper"] = TEST_PEPPER.toString("base64").slice(0, -1);
  canaries["databasePassword"] = new URL(databaseUrl).password;
  const [port, workerPort] = [await freePort(), await freePort()];
  url = `http://127.0.0.1:${String(port)}`;
  workerUrl = `http://127.0.0.1:${String(workerPort)}`;
  gateway = start("gateway", "workers/gateway-server.ts", { REDIS_URL: redisUrl, SPILLWAY_PORT: String(port) });
  const database = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  worker = start("worker", "workers/main.ts", { ...database, WORKER_PORT: String(workerPort) });
  consoleServices = createConsoleServices(databaseUrl, redisUrl, { logLevel: "silent" });
  (globalThis as { spillwayConsole?: ConsoleServices }).spillwayConsole = consoleServices;
}, 180_000);
afterAll(async () => {
  await Promise.all([gateway.stop(), worker.stop()]);
  idp.close();
  await receiver.close();
  await consoleServices.close();
  await bench.close();
});

async function untilUp(): Promise<void> {
  const up = (address: string) => fetch(address).then((response) => response.status, () => 0); // prettier-ignore
  await expect.poll(() => up(`${url}/v1/models`), { timeout: 60_000 }).toBe(401);
  await expect.poll(() => up(`${workerUrl}/health`), { timeout: 60_000 }).toBe(200);
}

async function driveCalls(): Promise<void> {
  expect((await call()).status).toBe(200);
  expect((await call({ body: { stream: true } })).status).toBe(200);
  expect((await call({ secret: jwt })).status).toBe(200);
  idp.respond = (_request, response) => {
    response.end(JSON.stringify({ active: true, aud: "spillway", azp: "crm", sub: "ada" }));
  };
  expect((await call({ secret: PLANTED.opaqueToken })).status).toBe(200);
  const kept = { headers: { "idempotency-key": "one" } };
  expect([(await call(kept)).status, (await call(kept)).status]).toEqual([200, 200]);
}

async function driveRefusals(): Promise<void> {
  const { prompt, strangersKey, opaqueToken } = PLANTED;
  expect((await call({ secret: `sw_live_${made.organisationId}_${strangersKey}` })).status).toBe(401);
  expect((await call({ secret: strangersKey })).status).toBe(401);
  idp.respond = (_request, response) => {
    response.writeHead(500).end();
  };
  expect((await call({ secret: `${opaqueToken}2` })).status).toBe(503);
  expect((await call({ secret: poor.apiKey.secret })).status).toBe(429);
  expect((await call({ body: { model: "nothing" } })).status).toBe(404);
  expect((await call({ body: `{"model": "sandbox-small", "messages": ["${prompt}"` })).status).toBe(400);
  expect((await call({ body: `{"${prompt}": 1, "${prompt}": 2}` })).status).toBe(400);
  expect((await call({ headers: { "content-type": "multipart/form-data" }, body: prompt, path: "audio/speech" })).status).toBe(400); // prettier-ignore
  expect((await call({ path: prompt })).status).toBe(404);
}

async function driveTrouble(): Promise<void> {
  const { provider } = PLANTED;
  const said = { errorCode: "invalid_request_error", errorMessage: `wrong key: ${provider}` };
  for (const fault of ["close_socket", "half_json", "wrong_gzip"]) await call({ control: { fault } });
  await call({ control: { status: 400, ...said }, body: { stream: true } });
  for (const fault of ["cut_stream", "error_in_stream"]) await call({ control: { fault }, body: { stream: true } });
  // Those last after which an account rests.
  for (const status of [400, 404, 500, 503, 504, 403, 429, 401]) await call({ control: { status, ...said } });
}

async function driveDeferral(): Promise<void> {
  const headers = { prefer: "respond-async", "x-spillway-webhook": `${receiver.url}/${PLANTED.webhookUrl}` };
  const { status, text } = await call({ headers });
  expect(status).toBe(202);
  const { id } = JSON.parse(text) as { id: string };
  await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBe(1);
  expect((await call({ method: "GET", path: `deferred/${id}` })).text).toContain("chat.completion");
  // A receiver that is not well, too.
  receiver.answers.push(500);
  await call({ headers, control: { status: 400, errorCode: "context_length_exceeded" } });
  await expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
}

/** Entries that no branch foresaw, as a damaged store would have them. */
async function driveDamage(): Promise<void> {
  const { redis } = bench.store;
  const keys = keysOf(made.organisationId);
  await redis.xadd(keys.usage, "*", "k", "settled", "e", "{ no event");
  await redis.xadd(keys.deferrals, "*", "m", "{ no facts", "r", "");
  await expect.poll(() => readFileSync(worker.logFile, "utf8"), { timeout: 20_000 }).toContain("taking over deferred");
  await redis.del(keys.deferrals);
}

async function consoleAnswers(): Promise<string> {
  const [organisation] = await listOrganisations(consoleServices.db.pool, [made.organisationId]);
  if (!organisation) throw new Error("the organisation was just made");
  const memberships = [
    { organisationId: made.organisationId, consumerId: made.organisationId, role: "owner" as const },
  ];
  const who: ConsolePrincipal = {
    principal: { userId: "usr_test", label: "Test", memberships },
    organisation,
    user: { id: "usr_test", name: "Test", email: "test@example.com" },
  };
  const query = { q: "", app: "", model: "", decision: "" as const, outcome: "", session: "", after: "" };
  const requests = await readRequests(consoleServices, who, query);
  expect(requests.rows.length).toBeGreaterThan(5);
  const details = await Promise.all(requests.rows.map(({ requestId }) => readRequest(consoleServices, who, requestId)));
  const webhooks = await readWebhooks(who, { state: "", after: "" });
  const deferred = await readDeferredCalls(consoleServices, who, { state: "", after: "" });
  expect([webhooks.rows.length, deferred.rows.length].every((count) => count > 0)).toBe(true);
  return JSON.stringify([
    ...[requests, details, webhooks, deferred, await readApiKeys(consoleServices, who, { q: "", state: "all" })],
    ...[await readProviders(who), await readTokenIssuers(who), await readPolicies(who)],
  ]);
}

describe("secrets and texts of calls", () => {
  it("litellm incident, new-api#6306: are in nothing that is stored or said, whatever happens", async () => {
    await untilUp();
    await driveCalls();
    await driveRefusals();
    await driveDeferral();
    await driveTrouble();
    await driveDamage();
    await expect
      .poll(async () => (await bench.ledger(made.organisationId)).length, { timeout: 20_000 })
      .toBeGreaterThan(8);
    const said = {
      answers: answers.join("\n"),
      webhooks: JSON.stringify(receiver.received.map(({ headers, body }) => ({ headers, body }))),
      console: await consoleAnswers(),
      metrics: await (await fetch(`${workerUrl}/metrics`)).text(),
      health: await (await fetch(`${workerUrl}/health`)).text(),
      redis: await redisDump(bench.store.redis),
      postgres: await databaseDump(bench.control.db.pool),
    };
    await Promise.all([gateway.stop(), worker.stop()]);
    const logs = { gatewayLog: readFileSync(gateway.logFile, "utf8"), workerLog: readFileSync(worker.logFile, "utf8") };
    // The search looks at something.
    expect(said.answers).toContain("chat.completion");
    for (const place of [said.console, said.redis, said.postgres]) expect(place).toContain(made.organisationId);
    expect(said.metrics).toContain("spillway_usage_events_total");
    expect(logs.gatewayLog).toContain("listening");
    expect(logs.workerLog).toContain("worker ready");
    // And these were there to be found.
    expect(await (await fetch(`${bench.sandbox.url}/calls`)).text()).toContain(PLANTED.prompt);
    expect(receiver.received.map(({ path }) => path)).toContain(`/${PLANTED.webhookUrl}`);

    const found = Object.entries({ ...said, ...logs }).map(([place, text]) => {
      const names = canariesIn(text, canaries);
      return [place, place === "answers" ? names.filter((name) => !OWN.has(name)) : names];
    });
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.keys({ ...said, ...logs }).map((place) => [place, []])),
    );
  }, 180_000);
});
