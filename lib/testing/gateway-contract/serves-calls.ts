/** Calls that are served: answers, streams, embeddings, models, limits. */
import { expect, it } from "vitest";
import type { GatewayHost } from "./host";
import { asking, callerOf, lastUpstream, post, raw, settled, USER } from "./host";

export function servesCalls(host: () => GatewayHost): void {
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
