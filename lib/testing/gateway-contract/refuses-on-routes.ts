/** Every route is governed: bad input holds nothing, a caller with nothing left reaches nobody, errors are the SDK's own. */
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, expect, it } from "vitest";
import { publishPolicyVersion } from "@/lib/control/policies";
import { LADDER_TEMPLATES } from "@/lib/domain/ladder-templates";
import { testPrincipal } from "../factories";
import type { GatewayHost } from "./host";
import { callerOf, post, raw, settled, upstreamCalls, USER } from "./host";
import type { RouteCaller } from "./route-caller";
import { clientsOf, routeCallerOf } from "./route-caller";
import { addModel, CLAUDE, GEMINI, publish } from "./route-models";

interface RouteCall {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | (() => FormData);
}

function form(fields: Readonly<Record<string, string>>, fileField: string): FormData {
  const data = new FormData();
  // As SDKs do it: the file first.
  data.set(fileField, new Blob([Buffer.alloc(40_000)], { type: "audio/mpeg" }), "speech.mp3");
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  return data;
}

const CONTENTS = [{ role: "user", parts: [{ text: "Say something." }] }];

/** One good call of every route. */
const CALLS: readonly RouteCall[] = [
  { path: "/chat/completions", body: { model: "sandbox-small", messages: USER } },
  { path: "/chat/completions", body: { model: "sandbox-small", messages: USER, stream: true } },
  { path: "/responses", body: { model: "sandbox-small", input: "x" } },
  { path: "/completions", body: { model: "sandbox-instruct", prompt: "x" } },
  { path: "/embeddings", body: { model: "sandbox-embed", input: "x" } },
  { path: "/moderations", body: { model: "sandbox-moderation", input: "x" } },
  { path: "/rerank", body: { model: "sandbox-rerank", query: "x", documents: ["x"] } },
  { path: "/images/generations", body: { model: "sandbox-image", prompt: "x" } },
  { path: "/images/edits", body: () => form({ model: "sandbox-image", prompt: "x" }, "image") },
  { path: "/images/variations", body: () => form({ model: "sandbox-dalle" }, "image") },
  { path: "/audio/speech", body: { model: "sandbox-tts", voice: "alloy", input: "x" } },
  { path: "/audio/transcriptions", body: () => form({ model: "sandbox-whisper" }, "file") },
  { path: "/audio/translations", body: () => form({ model: "sandbox-whisper" }, "file") },
  { path: "/messages", body: { model: CLAUDE.name, max_tokens: 5, messages: USER } },
  { path: "/messages/count_tokens", body: { model: CLAUDE.name, messages: USER } },
  { path: `/models/${GEMINI.name}:generateContent`, body: { contents: CONTENTS } },
  { path: `/models/${GEMINI.name}:streamGenerateContent?alt=sse`, body: { contents: CONTENTS } },
  { path: `/models/${GEMINI.name}:countTokens`, body: { contents: CONTENTS } },
  { path: "/responses/input_tokens", body: { model: "sandbox-small", input: "x" } },
];

function send(host: GatewayHost, secret: string, { path, body }: RouteCall): Promise<Response> {
  if (typeof body === "function") {
    return raw(host, path, { method: "POST", headers: { authorization: `Bearer ${secret}` }, body: body() });
  }
  return raw(host, path, post(secret, JSON.stringify(body)));
}

/** Bad in a way of its own on each route, and what every JSON body may be. */
const BAD: readonly (readonly [path: string, body: string])[] = [
  ...CALLS.filter(({ body }) => typeof body !== "function").flatMap(({ path }) => [
    [path, "{"] as const,
    [path, "[]"] as const,
  ]),
  ...["/chat/completions", "/messages", "/responses", "/embeddings"].map(
    (path) => [path, `{"model":"sandbox-small","messages":${"[".repeat(5000)}${"]".repeat(5000)}}`] as const,
  ),
  ["/responses", '{"model":"sandbox-small","input":5}'],
  ["/responses", '{"model":"sandbox-small","input":"x","background":"yes"}'],
  ["/responses", '{"model":"sandbox-small","input":"x","max_output_tokens":-1}'],
  ["/completions", '{"model":"sandbox-instruct","prompt":"x","best_of":21}'],
  ["/embeddings", '{"model":"sandbox-embed","input":{}}'],
  ["/moderations", '{"model":"sandbox-moderation"}'],
  ["/rerank", '{"model":"sandbox-rerank","query":"x","documents":[]}'],
  ["/images/generations", '{"model":"sandbox-image","prompt":"x","n":1e309}'],
  ["/images/generations", '{"model":"sandbox-image"}'],
  ["/audio/speech", '{"model":"sandbox-tts","voice":"alloy"}'],
  ["/audio/transcriptions", '{"model":"sandbox-whisper"}'],
  ["/messages", `{"model":"${CLAUDE.name}","messages":[{"role":"user","content":"x"}]}`],
  ["/messages", `{"model":"${CLAUDE.name}","max_tokens":5,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`],
  [`/models/${GEMINI.name}:generateContent`, '{"contents":[],"generationConfig":{}}'],
  [
    `/models/${GEMINI.name}:generateContent`,
    '{"contents":[{"parts":[]}],"generationConfig":{},"generation_config":{}}',
  ],
  // A call that names another upstream, and content that somebody inside would have to fetch.
  ["/chat/completions", '{"model":"sandbox-small","messages":[{"role":"user","content":"x"}],"api_base":"http://x"}'],
  [
    "/chat/completions",
    '{"model":"sandbox-small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}]}]}',
  ],
];

/** No answer cost more than was held for it. */
async function expectHoldsCoverCosts(host: GatewayHost, { made }: RouteCaller): Promise<void> {
  const { pool } = host.bench.books.db;
  const entries = async () => {
    await host.bench.book(made.organisationId);
    const { rows } = await pool.query<{ route: string; short: boolean }>(
      "SELECT route, amount > held_amount AS short FROM ledger_entries WHERE organisation_id = $1",
      [made.organisationId],
    );
    return rows;
  };
  await expect.poll(async () => (await entries()).length).toBeGreaterThanOrEqual(CALLS.length);
  expect((await entries()).filter(({ short }) => short)).toEqual([]);
}

export function refusesOnRoutes(host: () => GatewayHost): void {
  let caller: RouteCaller;
  beforeAll(async () => {
    caller = await routeCallerOf(host());
  });

  it("bad input is a clear 400 in the route's own shape, nothing held, nothing sent", async () => {
    const before = await upstreamCalls(host());
    for (const [path, body] of BAD) {
      const response = await raw(host(), path, post(caller.made.apiKey.secret, body));
      const answer = (await response.json()) as { type?: string; error: { message: string; status?: string } };
      expect([path, body, response.status]).toEqual([path, body, 400]);
      expect(answer.error.message).not.toBe("");
      if (path.startsWith("/messages")) expect(answer.type).toBe("error");
      if (path.startsWith("/models/")) expect(answer.error.status).toBe("INVALID_ARGUMENT");
    }
    expect(await upstreamCalls(host())).toBe(before);
    expect(await settled(host(), caller.made)).toEqual({ settled: 0n, held: 0n });
  });

  it("a form that is not whole, names a field twice or has no file is a clear 400", async () => {
    const before = await upstreamCalls(host());
    const { secret } = caller.made.apiKey;
    const twice = form({ model: "sandbox-whisper" }, "file");
    twice.append("model", "sandbox-transcribe");
    const none = new FormData();
    none.set("model", "sandbox-whisper");
    for (const body of [twice, none]) {
      const response = await send(host(), secret, { path: "/audio/transcriptions", body: () => body });
      expect(response.status).toBe(400);
    }
    const cut = await raw(host(), "/audio/transcriptions", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "multipart/form-data; boundary=b" },
      body: '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nsandbox-whisper',
    });
    expect(cut.status).toBe(400);
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("every route serves its good call, and a caller with nothing left reaches nobody on any of them", async () => {
    const secret = caller.made.apiKey.secret;
    for (const call of CALLS) {
      const response = await send(host(), secret, call);
      await response.arrayBuffer();
      expect([call.path, response.status]).toEqual([call.path, 200]);
    }
    await expectHoldsCoverCosts(host(), caller);
    const broke = await routeCallerOf(host(), { budgets: { organisation: 0n } });
    const before = await upstreamCalls(host());
    for (const call of CALLS) {
      const response = await send(host(), broke.made.apiKey.secret, call);
      const text = await response.text();
      // Money is 402 to Anthropic's SDK, which retries every 429.
      expect([call.path, response.status]).toEqual([call.path, call.path.startsWith("/messages") ? 402 : 429]);
      expect(text).toContain("ORGANIZATION_BUDGET_EXHAUSTED");
    }
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("a model of the wrong kind is refused on every route", async () => {
    const { secret } = caller.made.apiKey;
    for (const call of CALLS) {
      const { body } = call;
      if (typeof body === "function" || !("model" in body) || call.path === "/responses/input_tokens") continue;
      const wrong = body.model === "sandbox-embed" ? "sandbox-small" : "sandbox-embed";
      const response = await send(host(), secret, { path: call.path, body: { ...body, model: wrong } });
      expect([call.path, response.status]).toEqual([call.path, 404]);
      await response.arrayBuffer();
    }
  });

  it("a key that is not one is told so in the route's own shape, before its body is read", async () => {
    const errors = CALLS.map(async (call) => {
      const response = await send(host(), "nonsense", call);
      return [call.path, response.status, await response.json()] as const;
    });
    for (const [path, status, body] of await Promise.all(errors)) {
      expect([path, status]).toEqual([path, 401]);
      if (path.startsWith("/messages"))
        expect(body).toMatchObject({ type: "error", error: { type: "authentication_error" } });
      else if (path.startsWith("/models/"))
        expect(body).toMatchObject({ error: { code: 401, status: "UNAUTHENTICATED" } });
      else expect(body).toMatchObject({ error: { code: "invalid_api_key" } });
    }
    const anthropic = new Anthropic({
      baseURL: host().baseURL.replace(/\/v1$/u, ""),
      apiKey: "nonsense",
      fetch: (input, init) => host().fetch(input, init),
    });
    await expect(anthropic.messages.create({ model: "m", max_tokens: 1, messages: USER })).rejects.toBeInstanceOf(
      Anthropic.AuthenticationError,
    );
  });

  it("what outlives a call and is in no register is not served, whatever price somebody gave its path", async () => {
    const before = await upstreamCalls(host());
    for (const path of ["/uploads", "/messages/batches", "/files/file-1/versions", "/batches/batch_1/lines"]) {
      const response = await raw(host(), path, post(caller.made.apiKey.secret, "{}"));
      expect([path, response.status]).toEqual([path, 404]);
    }
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("a call dearer than its own ceiling is refused, once, with both amounts", async () => {
    const before = await upstreamCalls(host());
    const error = await caller.openai.chat.completions
      .create(
        { model: "sandbox-large", messages: USER, max_tokens: 1000 },
        { headers: { "x-spillway-max-cost": "0.001" } },
      )
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      status: 400,
      code: "max_cost_exceeded",
      message: expect.stringMatching(/0\.01\d+ USD.*0\.001/u) as string,
    });
    expect(await upstreamCalls(host())).toBe(before);
    const served = await caller.openai.chat.completions.create(
      { model: "sandbox-small", messages: USER, max_tokens: 10 },
      { headers: { "x-spillway-max-cost": "0.001" } },
    );
    expect(served.choices).toHaveLength(1);
  });

  it("a rung that answers with a fixed text does so in every shape, streamed where asked, and nobody is called", async () => {
    const { made } = await callerOf(host(), {
      budgets: { organisation: 0n },
      budget: { ladder: "monthly-department" },
      key: { trafficClass: "marketing" },
      policy: { ladders: { ...LADDER_TEMPLATES }, staticText: { en: "Back soon.", "zh-CN": "稍后再来。" } },
    });
    await addModel(host(), made, CLAUDE);
    await publish(host(), made);
    const clients = clientsOf(host(), made);
    const before = await upstreamCalls(host());
    const asked = { model: "sandbox-small", messages: USER };
    const { data, response } = await clients.openai.chat.completions.create(asked).withResponse();
    expect(data.choices[0]?.message.content).toBe("Back soon.");
    expect(response.headers.get("x-spillway-decision")).toBe("static");
    let text = "";
    for await (const chunk of await clients.openai.chat.completions.create(
      { ...asked, stream: true },
      { headers: { "accept-language": "zh-CN" } },
    )) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect(text).toBe("稍后再来。");
    const message = await clients.anthropic.messages.create({ model: CLAUDE.name, max_tokens: 5, messages: USER });
    expect(message.content).toEqual([{ type: "text", text: "Back soon." }]);
    const streamed = await clients.anthropic.messages
      .stream({ model: CLAUDE.name, max_tokens: 5, messages: USER })
      .finalMessage();
    expect(streamed.content).toEqual([{ type: "text", text: "Back soon." }]);
    // No text can stand for a vector.
    await expect(clients.openai.embeddings.create({ model: "sandbox-embed", input: "x" })).rejects.toMatchObject({
      status: 429,
    });
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("a model denied to a class is denied to calls of that class alone, and they are told so", async () => {
    const policy = { models: { deny: [{ pattern: "*-large", classes: ["offline"] }] } };
    const general = await callerOf(host(), { policy });
    const asked = { model: "sandbox-large", messages: USER };
    expect((await general.client.chat.completions.create(asked)).choices).toHaveLength(1);
    const offline = await callerOf(host(), { policy, key: { trafficClass: "offline" } });
    await expect(offline.client.chat.completions.create(asked)).rejects.toMatchObject({
      status: 403,
      code: "model_not_allowed",
      message: expect.stringContaining("calls of the class offline may not use it"),
    });
    const names = async ({ client }: typeof general) => (await client.models.list()).data.map(({ id }) => id);
    expect(await names(general)).toContain("sandbox-large");
    expect(await names(offline)).not.toContain("sandbox-large");
    expect((await offline.client.chat.completions.create({ ...asked, model: "sandbox-small" })).choices).toHaveLength(
      1,
    );
  });

  it("models are allowed and denied by pattern", async () => {
    const { client, made } = await callerOf(host(), {
      policy: { models: { allow: ["sandbox-*"], deny: ["*-large"] } },
    });
    await expect(client.chat.completions.create({ model: "sandbox-large", messages: USER })).rejects.toMatchObject({
      status: 403,
      code: "model_not_allowed",
    });
    expect((await client.chat.completions.create({ model: "sandbox-small", messages: USER })).choices).toHaveLength(1);
    await publishPolicyVersion(host().bench.control, testPrincipal, {
      organisationId: made.organisationId,
      policyId: made.policyId ?? "",
      document: { models: { allow: ["other-*"] } },
    });
    await expect(client.chat.completions.create({ model: "sandbox-small", messages: USER })).rejects.toMatchObject({
      status: 403,
    });
  });
}
