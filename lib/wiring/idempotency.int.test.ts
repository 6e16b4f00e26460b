/** One call is one charge, whoever repeats it, however often and wherever: Redis, Postgres and provider are real. */
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import type { PolicyDocument } from "@/lib/domain/policy";
import { keysOf } from "@/lib/redis/keys";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { RunningGateway } from "./gateway";

const ROOT = join(import.meta.dirname, "../..");
const KEEPS: PolicyDocument = { answerKeepSeconds: 600 };

let bench: TestBench;
let gateways: RunningGateway[];
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  gateways = [await bench.gateway(), await bench.gateway(), await bench.gateway()];
});
afterAll(() => bench.close());

interface Call {
  readonly name?: string;
  readonly secret?: string;
  readonly content?: string;
  readonly control?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly gateway?: RunningGateway | undefined;
}

let turn = 0;
async function chat(made: TestOrganisation, call: Call = {}): Promise<Response> {
  turn += 1;
  const gateway = call.gateway ?? gateways[turn % gateways.length];
  const messages = [{ role: "user", content: call.content ?? "hello" }];
  const request = new Request(`http://gateway.test/v1/${call.path ?? "chat/completions"}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${call.secret ?? made.apiKey.secret}`,
      ...(call.name === undefined ? {} : { "idempotency-key": call.name }),
      ...call.headers,
    },
    body: JSON.stringify({
      model: "sandbox-small",
      max_tokens: 64,
      messages,
      sandbox: call.control ?? {},
      ...call.body,
    }),
  });
  if (!gateway) throw new Error("no gateway");
  return gateway.handle(request, { waitUntil: () => undefined });
}

/** What the provider was asked by this organisation: its calls carry the organisation's id in our tag. */
async function upstreamCalls(made: TestOrganisation): Promise<number> {
  const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as {
    requests: { headers: Record<string, string> }[];
  };
  return calls.requests.filter(({ headers }) => headers["x-spillway-request"]?.includes(made.organisationId)).length;
}

function counter(made: TestOrganisation): Promise<{ settled: bigint; held: bigint }> {
  return bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
}

async function entries(made: TestOrganisation): Promise<number> {
  await expect.poll(async () => (await counter(made)).held).toBe(0n);
  await bench.book(made.organisationId);
  return (await bench.ledger(made.organisationId)).length;
}

async function errorOf(response: Response): Promise<{ code: string; type: string }> {
  return ((await response.json()) as { error: { code: string; type: string } }).error;
}

describe("an Idempotency-Key", () => {
  it("makes one call of fifty at once at three gateways, and all get its answer", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    // Each gateway knows the organisation before the rush.
    const headers = { authorization: `Bearer ${made.apiKey.secret}` };
    const models = new Request("http://gateway.test/v1/models", { headers });
    await Promise.all(gateways.map((gateway) => gateway.handle(models.clone(), { waitUntil: () => undefined })));
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => chat(made, { name: "order-1", control: { latencyMs: 150 } })),
    );
    const bodies = new Set(await Promise.all(responses.map((response) => response.text())));
    expect(responses.map((response) => response.status)).toEqual(Array.from({ length: 50 }, () => 200));
    expect(bodies.size).toBe(1);
    expect(new Set(responses.map((response) => response.headers.get("x-request-id"))).size).toBe(1);
    const replayed = responses.filter((response) => response.headers.get("x-spillway-replayed") === "true");
    expect(replayed).toHaveLength(49);
    expect(replayed.every((response) => response.headers.get("x-spillway-cost") === "0")).toBe(true);
    expect(await upstreamCalls(made)).toBe(1);
    expect(await entries(made)).toBe(1);
    const noted = await bench.store.redis.xrange(keysOf(made.organisationId).refusals, "-", "+");
    expect(noted.filter(([, fields]) => fields.join(" ").includes('"replayed"'))).toHaveLength(49);
  });

  it("replays a stream byte for byte, also to one that came while it ran and after the first client left", async () => {
    const made = await bench.organisation({ policy: { ...KEEPS, clientGone: "cut" } });
    const call = { name: "story", body: { stream: true }, control: { completionTokens: 30, chunkDelayMs: 10 } };
    const first = await chat(made, call);
    const reader = first.body?.getReader();
    const start = new TextDecoder().decode((await reader?.read())?.value);
    const joining = chat(made, call);
    await reader?.cancel();
    const joined = await joining;
    const text = await joined.text();
    expect(joined.headers.get("content-type")).toContain("text/event-stream");
    expect(text.startsWith(start)).toBe(true);
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(await (await chat(made, call)).text()).toBe(text);
    expect(await upstreamCalls(made)).toBe(1);
    expect(await entries(made)).toBe(1);
  });

  it("is read by the official client as the same answer, streamed or not", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const [gateway] = gateways;
    const client = new OpenAI({
      baseURL: "http://gateway.test/v1",
      apiKey: made.apiKey.secret,
      fetch: (input, init) =>
        gateway
          ? gateway.handle(new Request(input, init), { waitUntil: () => undefined })
          : Promise.reject(new Error()),
    });
    const stream = async (): Promise<string> => {
      const body = { model: "sandbox-small", messages: [{ role: "user" as const, content: "tell" }] };
      let text = "";
      const options = { headers: { "Idempotency-Key": "s" } };
      for await (const chunk of await client.chat.completions.create({ ...body, stream: true }, options)) {
        text += chunk.choices[0]?.delta.content ?? "";
      }
      return text;
    };
    const text = await stream();
    expect(text.length).toBeGreaterThan(0);
    expect(await stream()).toBe(text);
    expect(await upstreamCalls(made)).toBe(1);
  });

  it("is refused for another body with 422 in the route's own shape, and nothing is sent", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    expect((await chat(made, { name: "a", content: "one" })).status).toBe(200);
    const second = await chat(made, { name: "a", content: "two" });
    expect(second.status).toBe(422);
    expect(await errorOf(second)).toMatchObject({ code: "idempotency_mismatch", type: "idempotency_error" });
    // Another route is another call as well.
    const third = await chat(made, { name: "a", content: "one", path: "messages" });
    expect(third.status).toBe(422);
    expect(await third.json()).toMatchObject({ type: "error", error: { code: "idempotency_mismatch" } });
    expect(await upstreamCalls(made)).toBe(1);
  });

  it("of another API key is another call", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const { secret } = await createTestKey(bench.control, made.organisationId, made.consumers.app);
    await expect.poll(async () => (await chat(made, { name: "same", secret })).status, { timeout: 5_000 }).toBe(200);
    const response = await chat(made, { name: "same" });
    expect(response.headers.get("x-spillway-replayed")).toBeNull();
    expect(await upstreamCalls(made)).toBe(2);
  });

  it("is free again after a refusal and after a failure of the provider", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const failing = { name: "again", control: { status: 400, errorCode: "context_length_exceeded" } };
    expect((await chat(made, failing)).status).toBe(400);
    const served = await chat(made, { name: "again" });
    expect(served.status).toBe(200);
    expect(served.headers.get("x-spillway-replayed")).toBeNull();

    const poor = await bench.organisation({ policy: KEEPS, budgets: { organisation: 1n } });
    expect((await chat(poor, { name: "poor" })).status).toBe(429);
    expect((await chat(poor, { name: "poor" })).status).toBe(429);
    expect(await upstreamCalls(poor)).toBe(0);
  });

  it("is free again after a stream that the provider broke off", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const broken = { body: { stream: true }, control: { fault: "cut_stream", cutAfterChunks: 2 } };
    await (await chat(made, { name: "torn", ...broken })).text();
    const whole = await chat(made, { name: "torn", body: { stream: true } });
    expect(whole.headers.get("x-spillway-replayed")).toBeNull();
    expect(await whole.text()).toContain("[DONE]");
    expect(await upstreamCalls(made)).toBe(2);
  });

  it("is never charged twice where the answer was not kept: too long, or the organisation keeps none", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const small = await bench.gateway({ claims: { maxBytes: 1_000 } });
    const long = { name: "long", control: { padBytes: 2_000 }, gateway: small };
    expect((await chat(made, long)).status).toBe(200);
    const second = await chat(made, long);
    expect(second.status).toBe(409);
    expect(second.headers.get("x-should-retry")).toBe("false");
    expect(await errorOf(second)).toMatchObject({ code: "idempotency_not_kept" });

    const silent = await bench.organisation({ policy: {} });
    expect((await chat(silent, { name: "x", content: "a secret of ours" })).status).toBe(200);
    expect((await chat(silent, { name: "x", content: "a secret of ours" })).status).toBe(409);
    expect(await upstreamCalls(made)).toBe(1);
    expect(await upstreamCalls(silent)).toBe(1);
  });

  it("asks to come again, with the same name, where the call outlasts the wait", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const hasty = await bench.gateway({ claims: { waitMs: 20 } });
    const slow = { name: "slow", control: { latencyMs: 800 } };
    const first = chat(made, slow);
    await expect.poll(() => upstreamCalls(made)).toBe(1);
    const second = await chat(made, { ...slow, gateway: hasty });
    expect(second.status).toBe(409);
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await first).status).toBe(200);
    expect((await chat(made, slow)).headers.get("x-spillway-replayed")).toBe("true");
  });

  it("keeps answers sealed, and for as long as the organisation said", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const answer = await (await chat(made, { name: "sealed" })).text();
    const { redis } = bench.store;
    const [, found] = await redis.scan(0, "MATCH", keysOf(made.organisationId).claim("*"), "COUNT", 1_000_000);
    expect(found).toHaveLength(1);
    const stored = await redis.hgetall(found[0] ?? "");
    const { content } = (JSON.parse(answer) as { choices: { message: { content: string } }[] }).choices[0]?.message ?? {
      content: "",
    };
    expect(content.length).toBeGreaterThan(0);
    expect(Buffer.from(stored.a ?? "", "base64").toString("latin1")).not.toContain(content);
    expect(await redis.pttl(found[0] ?? "")).toBeGreaterThan(590_000);
  });

  it("of more than 255 characters is refused", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const malformed = await chat(made, { name: "n".repeat(256) });
    expect(malformed.status).toBe(400);
    expect(await upstreamCalls(made)).toBe(0);
  });
});

describe("the same body within the policy's window", () => {
  it("is the same call, without a name", async () => {
    const made = await bench.organisation({ policy: { retryWindowSeconds: 60 } });
    const responses = await Promise.all(Array.from({ length: 10 }, () => chat(made, { control: { latencyMs: 100 } })));
    expect(new Set(await Promise.all(responses.map((response) => response.text()))).size).toBe(1);
    expect((await chat(made, { content: "something else" })).headers.get("x-spillway-replayed")).toBeNull();
    expect(await upstreamCalls(made)).toBe(2);
    expect(await entries(made)).toBe(2);
  });

  it("is two calls where the policy has no window", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    await chat(made);
    await chat(made);
    expect(await upstreamCalls(made)).toBe(2);
  });
});

describe("a process that is killed in the middle of a named call", () => {
  it("loses its claim with its lease, and the next one runs the call", async () => {
    const made = await bench.organisation({ policy: KEEPS });
    const port = await freePort();
    const url = `http://127.0.0.1:${String(port)}/v1`;
    const child = startChild({
      name: "gateway",
      command: process.execPath,
      args: ["--import", "tsx", join(ROOT, "workers/gateway-server.ts")],
      cwd: ROOT,
      logFile: join(throwAwayFolder("spillway-claims"), "gateway.log"),
      env: {
        REDIS_URL: testRedisUrl(),
        SPILLWAY_PORT: String(port),
        SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
        SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
        SPILLWAY_LEASE_MS: "5000",
        NODE_ENV: "production",
        LOG_LEVEL: "silent",
        SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
      },
    });
    const status = (): Promise<number> =>
      fetch(`${url}/models`).then(
        (response) => response.status,
        () => 0,
      );
    await expect.poll(status, { timeout: 30_000 }).toBe(401);
    const body = { model: "sandbox-small", max_tokens: 64, messages: [{ role: "user", content: "hello" }] };
    // A busy machine's store may not answer a process's first call in time: then it is asked again, as clients do.
    const named = async (): Promise<number> => {
      const response = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}`, "idempotency-key": "killed" },
        body: JSON.stringify({ ...body, sandbox: { latencyMs: 1_500 } }),
      });
      return response.status === 503 ? named() : response.status;
    };
    const dying = named().catch(() => "reset");
    await expect.poll(() => upstreamCalls(made), { timeout: 20_000 }).toBe(1);
    process.kill(child.pid, "SIGKILL");
    expect(await dying).toBe("reset");
    // Waits for the dead one's lease, then runs the call itself.
    const next = await chat(made, { name: "killed", control: { latencyMs: 1_500 } });
    expect(next.status).toBe(200);
    expect(next.headers.get("x-spillway-replayed")).toBeNull();
    expect(await upstreamCalls(made)).toBe(2);
    expect(
      (await chat(made, { name: "killed", control: { latencyMs: 1_500 } })).headers.get("x-spillway-replayed"),
    ).toBe("true");
  }, 60_000);
});
