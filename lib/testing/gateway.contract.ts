/**
 * What every host of the gateway must do, seen by the official OpenAI client. One suite for the handler in memory, the
 * lean host and the Next route handler.
 */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freezeConsumer } from "@/lib/control/consumers";
import { setRateLimit } from "@/lib/control/rate-limits";
import type { TestOrganisation, TestOrganisationOptions } from "./factories";
import { testPrincipal } from "./factories";
import type { TestBench } from "./running-gateway";

export interface GatewayHost {
  readonly bench: TestBench;
  /** With `/api/v1`. */
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  close(): Promise<void>;
}

const USER = [{ role: "user" as const, content: "hello" }];

/** What the sandbox is asked for travels in the body, as a field the gateway does not know. */
function asking(control: Record<string, unknown>): object {
  return { sandbox: control };
}

interface Caller {
  readonly made: TestOrganisation;
  readonly client: OpenAI;
  /** Requests the client sent, retries included. */
  readonly sent: () => number;
}

async function callerOf(host: GatewayHost, options: TestOrganisationOptions = {}): Promise<Caller> {
  const made = await host.bench.organisation(options);
  let sent = 0;
  const client = new OpenAI({
    baseURL: host.baseURL,
    apiKey: made.apiKey.secret,
    fetch: (input, init) => {
      sent += 1;
      return host.fetch(input, init);
    },
  });
  return { made, client, sent: () => sent };
}

async function upstreamCalls(host: GatewayHost): Promise<number> {
  const calls = (await (await fetch(`${host.bench.sandbox.url}/calls`)).json()) as { byPath: Record<string, number> };
  return Object.values(calls.byPath).reduce((sum, count) => sum + count, 0);
}

async function lastUpstream(host: GatewayHost): Promise<{ body: string; headers: Record<string, string> }> {
  const calls = (await (await fetch(`${host.bench.sandbox.url}/calls`)).json()) as {
    requests: { body: string; headers: Record<string, string> }[];
  };
  const last = calls.requests.at(-1);
  if (!last) throw new Error("the upstream saw nothing");
  return last;
}

async function settled(host: GatewayHost, made: TestOrganisation): Promise<{ settled: bigint; held: bigint }> {
  return host.bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
}

async function raw(host: GatewayHost, path: string, init: RequestInit): Promise<Response> {
  return host.fetch(`${host.baseURL}${path}`, init);
}

function post(secret: string, body: string | Uint8Array<ArrayBuffer>): RequestInit {
  return { method: "POST", headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" }, body };
}

function servesCalls(host: () => GatewayHost): void {
  it("chats: usage is the upstream's, the cost is exact, headers say what was served", async () => {
    const { client, made } = await callerOf(host());
    const { data, response } = await client.chat.completions
      .create({
        model: "sandbox-large",
        messages: USER,
        ...asking({ promptTokens: 100, cachedTokens: 40, completionTokens: 7 }),
      })
      .withResponse();
    expect(data.usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 40 },
    });
    // 60 x 2500 + 40 x 1250 + 7 x 10000 nanos
    expect(response.headers.get("x-spillway-cost")).toBe("0.00027");
    expect(response.headers.get("x-spillway-model")).toBe("sandbox-large");
    expect(response.headers.get("x-spillway-decision")).toBe("pass");
    expect(response.headers.get("x-quota-source")).toBe("budget");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/u);
    expect(response.headers.get("ratelimit")).toMatch(/^"month";r=\d+;t=\d+$/u);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 270_000n, held: 0n });
  });

  it("streams what the upstream sent; the usage chunk only for a client that asked for it", async () => {
    const { client, made } = await callerOf(host());
    const create = {
      model: "sandbox-small",
      messages: USER,
      stream: true as const,
      ...asking({ promptTokens: 10, completionTokens: 5 }),
    };
    let text = "";
    let empty = 0;
    for await (const chunk of await client.chat.completions.create(create)) {
      if (chunk.choices.length === 0) empty += 1;
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect([text, empty]).toEqual(["w0 w1 w2 w3 w4", 0]);
    const usages = [];
    for await (const chunk of await client.chat.completions.create({
      ...create,
      stream_options: { include_usage: true },
    })) {
      if (chunk.usage) usages.push(chunk.usage.total_tokens);
    }
    expect(usages).toEqual([15]);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 2n * (1500n + 3000n), held: 0n });
  });

  it("keeps the framing of a stream byte for byte", async () => {
    const { made } = await callerOf(host());
    const body = JSON.stringify({
      model: "sandbox-small",
      messages: USER,
      stream: true,
      max_tokens: 4,
      stream_options: { include_usage: true },
    });
    const direct = await (
      await fetch(`${host().bench.sandbox.url}/v1/chat/completions`, post("sandbox-direct", body))
    ).text();
    const through = await (await raw(host(), "/chat/completions", post(made.apiKey.secret, body))).text();
    const plain = (text: string) => text.replace(/"id":"[^"]*"/gu, '"id":""').replace(/"created":\d+/gu, '"created":0');
    expect(plain(through)).toBe(plain(direct));
  });

  it("embeds", async () => {
    const { client, made } = await callerOf(host());
    const answer = await client.embeddings.create({
      model: "sandbox-embed",
      input: ["a", "b"],
      ...asking({ promptTokens: 6 }),
    });
    expect(answer.data).toHaveLength(2);
    expect(answer.usage.prompt_tokens).toBe(6);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 120n, held: 0n });
  });

  it("lists the models of the key and tells it its limits", async () => {
    const { client, made } = await callerOf(host());
    const names: string[] = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(names).toEqual(["sandbox-embed", "sandbox-large", "sandbox-medium", "sandbox-small"]);
    await expect(client.models.retrieve("sandbox-small")).resolves.toMatchObject({ id: "sandbox-small" });
    await expect(client.models.retrieve("nothing")).rejects.toMatchObject({ status: 404 });
    const me = (await (
      await raw(host(), "/me", { headers: { authorization: `Bearer ${made.apiKey.secret}` } })
    ).json()) as {
      budgets: { remaining: string }[];
      effective: { remaining: string };
    };
    expect(me.budgets[0]?.remaining).toBe("100000000000");
    expect(me.effective.remaining).toBe("100000000000");
    const usage = await raw(host(), "/me/usage", { headers: { authorization: `Bearer ${made.apiKey.secret}` } });
    expect(usage.status).toBe(200);
  });

  it("passes fields it does not know untouched, numbers and all", async () => {
    const { made } = await callerOf(host());
    const body = `{"future_field":{"big":123456789012345678901234567890,"f":1.0},"model":"sandbox-small","max_tokens":3,"messages":[{"role":"user","content":"你好 \\u4f60"}]}`;
    expect((await raw(host(), "/chat/completions", post(made.apiKey.secret, body))).status).toBe(200);
    expect((await lastUpstream(host())).body).toBe(body);
  });

  it("writes its cap into a request that states none, and never its key or attribution headers of the caller", async () => {
    const { made } = await callerOf(host(), {
      policy: { outputCapTokens: 33 },
    });
    const init = post(made.apiKey.secret, JSON.stringify({ model: "sandbox-small", messages: USER }));
    await raw(host(), "/chat/completions", {
      ...init,
      headers: { ...init.headers, "x-spillway-request": "forged", cookie: "a=b" },
    });
    const seen = await lastUpstream(host());
    expect(JSON.parse(seen.body)).toMatchObject({ max_tokens: 33 });
    expect(seen.headers["x-spillway-request"]).toContain(`:0.${made.organisationId}.${made.apiKey.id}.`);
    expect(seen.headers.cookie).toBeUndefined();
    expect(JSON.stringify(seen)).not.toContain(made.apiKey.secret);
  });
}

function refusesOnBudget(host: () => GatewayHost): void {
  it("refuses a spent budget once, by name, with the amounts, and the client does not try again", async () => {
    const { client, made, sent } = await callerOf(host(), {
      budgets: { organisation: 10n ** 12n, department: 1_000n },
    });
    const before = await upstreamCalls(host());
    const error = await client.chat.completions
      .create({ model: "sandbox-large", messages: USER, max_tokens: 100 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, code: "DEPARTMENT_BUDGET_EXHAUSTED", type: "insufficient_quota" });
    const { headers, error: body } = error as {
      headers: Headers;
      error: { budget: Record<string, string>; fallback_suggestion: string };
    };
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("retry-after")).toBeNull();
    expect(body.budget).toMatchObject({
      scope: "department",
      meter: "cost",
      period: "month",
      limit: "1000",
      used: "0",
      currency: "USD",
    });
    expect(body.fallback_suggestion).toBeTruthy();
    expect([sent(), await upstreamCalls(host())]).toEqual([1, before]);
    expect(await settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });

  it("serves the cheaper model from 90 % on, refuses at 100 %, and says so", async () => {
    // A call of 10 output tokens at the large model is 100,000 nanos; input is priced by what the sandbox says: 0 tokens is not usage, so 1.
    const { client, made } = await callerOf(host(), {
      budgets: { organisation: 1_000_000n },
      budget: { ladder: "monthly-department" },
    });
    const call = (control: object) =>
      client.chat.completions
        .create({
          model: "sandbox-large",
          messages: USER,
          max_tokens: 10,
          ...asking({ completionTokens: 10, ...control }),
        })
        .withResponse();
    const first = await call({ promptTokens: 320 });
    expect(first.response.headers.get("x-spillway-decision")).toBe("pass");
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 900_000n, held: 0n });
    const second = await call({ promptTokens: 10 });
    expect(second.response.headers.get("x-spillway-decision")).toBe("downgrade");
    expect(second.response.headers.get("x-spillway-model")).toBe("sandbox-small");
    expect(second.response.headers.get("x-spillway-requested-model")).toBe("sandbox-large");
    expect(second.response.headers.get("x-spillway-rung")).toBe("90");
    await client.chat.completions.create({
      model: "sandbox-small",
      messages: USER,
      max_tokens: 10,
      ...asking({ promptTokens: 500 }),
    });
    await expect.poll(async () => (await settled(host(), made)).settled > 980_000n).toBe(true);
    await expect(call({})).rejects.toMatchObject({ status: 429, code: "PROTECTED_RUNG" });
  });

  it("freezes a consumer at once", async () => {
    const { client, made } = await callerOf(host());
    await client.chat.completions.create({ model: "sandbox-small", messages: USER });
    await freezeConsumer(host().bench.control, testPrincipal, {
      organisationId: made.organisationId,
      consumerId: made.consumers.team,
    });
    await expect(client.chat.completions.create({ model: "sandbox-small", messages: USER })).rejects.toMatchObject({
      status: 403,
      code: "consumer_frozen",
    });
  });

  it("limits requests per minute with a time to come back", async () => {
    const { made } = await callerOf(host());
    await setRateLimit(host().bench.control, testPrincipal, {
      organisationId: made.organisationId,
      consumerId: made.consumers.app,
      apiKeyId: null,
      requestsPerMinute: 60,
      burstRequests: 2,
      tokensPerMinute: null,
      concurrency: null,
    });
    const statuses = [];
    let last: Response | undefined;
    for (let index = 0; index < 3; index += 1) {
      last = await raw(
        host(),
        "/chat/completions",
        post(made.apiKey.secret, JSON.stringify({ model: "sandbox-small", messages: USER })),
      );
      statuses.push(last.status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect(Number(last?.headers.get("retry-after-ms"))).toBeGreaterThan(0);
    expect(Number(last?.headers.get("retry-after-ms"))).toBeLessThanOrEqual(1200);
  });
}

const BAD_BODIES: readonly (readonly [string, string])[] = [
  ["malformed JSON", '{"model":"sandbox-small","messages":['],
  ["NaN", '{"model":"sandbox-small","messages":[{"role":"user","content":"x"}],"max_tokens":NaN}'],
  ["a negative cap", '{"model":"sandbox-small","messages":[{"role":"user","content":"x"}],"max_tokens":-5}'],
  ["an endless cap", '{"model":"sandbox-small","messages":[{"role":"user","content":"x"}],"max_tokens":1e309}'],
  ["a cap as text", '{"model":"sandbox-small","messages":[{"role":"user","content":"x"}],"max_tokens":"10"}'],
  ["messages of the wrong type", '{"model":"sandbox-small","messages":"x"}'],
  ["no messages", '{"model":"sandbox-small","messages":[]}'],
  ["no model", '{"messages":[{"role":"user","content":"x"}]}'],
  ["a list as body", "[]"],
  ["n of zero", '{"model":"sandbox-small","n":0,"messages":[{"role":"user","content":"x"}]}'],
  ["stream of the wrong type", '{"model":"sandbox-small","stream":"yes","messages":[{"role":"user","content":"x"}]}'],
  [
    "a name that occurs twice",
    '{"model":"sandbox-small","model":"sandbox-large","messages":[{"role":"user","content":"x"}]}',
  ],
  ["an empty body", ""],
];

function refusesBadInput(host: () => GatewayHost): void {
  let caller: Caller;
  beforeAll(async () => {
    caller = await callerOf(host());
  });

  const expectRefusal = async (response: Response, status: number, code?: string) => {
    const text = await response.text();
    expect(response.status).toBe(status);
    const body = JSON.parse(text) as { error: { message: string; type: string; code: string; param: string | null } };
    expect(typeof body.error.message).toBe("string");
    if (code !== undefined) expect(body.error.code).toBe(code);
    expect(text).not.toMatch(/ at .*\(|node_modules|\.ts:/u);
    expect(await settled(host(), caller.made)).toEqual({ settled: 0n, held: 0n });
  };

  it.each(BAD_BODIES)("%s is a clear 400, nothing held, nothing sent", async (_name, body) => {
    const before = await upstreamCalls(host());
    await expectRefusal(
      await raw(host(), "/chat/completions", post(caller.made.apiKey.secret, body)),
      400,
      "invalid_request",
    );
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("bytes that are not UTF-8 are a clear 400", async () => {
    await expectRefusal(
      await raw(host(), "/chat/completions", post(caller.made.apiKey.secret, new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))),
      400,
    );
  });

  it("a call that could cost more than any budget has is refused whole", async () => {
    const body = JSON.stringify({ model: "sandbox-large", n: 128, max_tokens: 10_000_000, messages: USER });
    const response = await raw(host(), "/chat/completions", post(caller.made.apiKey.secret, body));
    await expectRefusal(response, 429, "ORGANIZATION_BUDGET_EXHAUSTED");
  });

  it("a body over the limit is refused without being read to its end", async () => {
    const body = JSON.stringify({
      model: "sandbox-small",
      messages: [{ role: "user", content: "x".repeat(21 * 1024 * 1024) }],
    });
    await expectRefusal(await raw(host(), "/chat/completions", post(caller.made.apiKey.secret, body)), 413);
  });

  it("unknown models, routes and methods are named as such", async () => {
    const { secret } = caller.made.apiKey;
    await expectRefusal(
      await raw(host(), "/chat/completions", post(secret, JSON.stringify({ model: "nothing", messages: USER }))),
      404,
      "model_not_found",
    );
    await expectRefusal(
      await raw(host(), "/chat/completions", post(secret, JSON.stringify({ model: "sandbox-embed", messages: USER }))),
      404,
    );
    await expectRefusal(await raw(host(), "/nowhere", post(secret, "{}")), 404, "not_found");
    await expectRefusal(
      await raw(host(), "/chat/completions", { headers: { authorization: `Bearer ${secret}` } }),
      405,
    );
  });

  it("no key, a malformed one, one of nobody and one cut short all look the same", async () => {
    const body = JSON.stringify({ model: "sandbox-small", messages: USER });
    const { secret } = caller.made.apiKey;
    const other = await callerOf(host());
    const mixed = secret.replace(caller.made.organisationId, other.made.organisationId);
    const texts = [];
    for (const key of ["", "' or 1=1 --", secret.slice(0, -1), mixed, `${secret}x`]) {
      const response = await raw(host(), "/chat/completions", key === "" ? { method: "POST", body } : post(key, body));
      expect(response.status).toBe(401);
      const parsed = (await response.json()) as { error: { message: string; code: string } };
      texts.push(`${parsed.error.code} ${parsed.error.message}`);
    }
    expect(new Set(texts).size).toBe(1);
  });

  it("a test key never reaches a model outside the company's walls", async () => {
    const { made } = await callerOf(host(), { key: { environment: "test" } });
    const body = JSON.stringify({ model: "sandbox-small", messages: USER });
    // The sandbox is inside the walls, so this passes; the walls themselves are a unit test of servingOf.
    expect((await raw(host(), "/chat/completions", post(made.apiKey.secret, body))).status).toBe(200);
  });
}

function survivesUpstream(host: () => GatewayHost): void {
  const cases: readonly (readonly [string, Record<string, unknown>, number, string])[] = [
    [
      "a mistake of the caller passes on",
      { status: 400, errorCode: "context_length_exceeded" },
      400,
      "context_length_exceeded",
    ],
    [
      "a busy provider is a 503 with Retry-After",
      { status: 429, errorCode: "rate_limit_exceeded", retryAfter: 1 },
      503,
      "upstream_error",
    ],
    [
      "an account without money is not the caller's business",
      { status: 429, errorCode: "insufficient_quota", errorMessage: "add credits at vendor" },
      502,
      "upstream_error",
    ],
    [
      "a wrong provider key is not the caller's business",
      { status: 401, errorCode: "invalid_api_key" },
      502,
      "upstream_error",
    ],
    ["a broken provider is a 502", { status: 500, errorCode: "server_error" }, 502, "upstream_error"],
  ];

  it.each(cases)("%s, and the hold returns", async (_name, control, status, code) => {
    const { made } = await callerOf(host());
    const body = JSON.stringify({ model: "sandbox-small", messages: USER, sandbox: control });
    const response = await raw(host(), "/chat/completions", post(made.apiKey.secret, body));
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(text).toContain(code);
    expect(text).not.toContain("add credits");
    // One second as the provider says, up to a fifth later.
    if (status === 503) expect(Number(response.headers.get("retry-after-ms"))).toBeGreaterThanOrEqual(1000);
    if (status === 503) expect(Number(response.headers.get("retry-after-ms"))).toBeLessThanOrEqual(1200);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });
}

export function gatewayContract(name: string, start: () => Promise<GatewayHost>): void {
  describe(`gateway contract: ${name}`, () => {
    let running: GatewayHost;
    beforeAll(async () => {
      running = await start();
    }, 120_000);
    afterAll(() => running.close());
    const host = () => running;
    describe("serves calls", () => {
      servesCalls(host);
    });
    describe("refuses on budget", () => {
      refusesOnBudget(host);
    });
    describe("refuses bad input", () => {
      refusesBadInput(host);
    });
    describe("survives the upstream", () => {
      survivesUpstream(host);
    });
  });
}
