/** Bad input: a clear error in the shape of the SDK, nothing held, nothing booked, nothing sent. */
import { beforeAll, expect, it } from "vitest";
import type { Caller, GatewayHost } from "./host";
import { callerOf, post, raw, settled, upstreamCalls, USER } from "./host";

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

export function refusesBadInput(host: () => GatewayHost): void {
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
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL25vYm9keS5leGFtcGxlLyJ9.c2ln";
    for (const key of ["", "' or 1=1 --", secret.slice(0, -1), mixed, `${secret}x`, token, "an-opaque-token"]) {
      const response = await raw(host(), "/chat/completions", key === "" ? { method: "POST", body } : post(key, body));
      expect(response.status).toBe(401);
      const parsed = (await response.json()) as { error: { message: string; code: string } };
      texts.push(`${parsed.error.code} ${parsed.error.message}`);
    }
    expect(new Set(texts).size).toBe(1);
  });

  it("a consumer that is not the key's to name is a 403, an end user of no countable name a 400", async () => {
    const { apiKey, consumers } = caller.made;
    const other = await callerOf(host());
    const body = JSON.stringify({ model: "sandbox-small", messages: USER });
    const naming = (headers: Record<string, string>) => {
      const init = post(apiKey.secret, body);
      return raw(host(), "/chat/completions", { ...init, headers: { ...init.headers, ...headers } });
    };
    const before = await upstreamCalls(host());
    for (const name of [other.made.consumers.app, consumers.team, consumers.root, "con_nobody"]) {
      await expectRefusal(await naming({ "x-consumer-id": name }), 403, "consumer_forbidden");
    }
    await expectRefusal(await naming({ "x-spillway-end-user": "x".repeat(300) }), 400, "invalid_request");
    expect(await upstreamCalls(host())).toBe(before);
  });

  it("a test key may call a model inside the company's walls", async () => {
    const { made } = await callerOf(host(), { key: { environment: "test" } });
    const body = JSON.stringify({ model: "sandbox-small", messages: USER });
    // What it may not reach is a unit test of servingOf.
    expect((await raw(host(), "/chat/completions", post(made.apiKey.secret, body))).status).toBe(200);
  });
}
