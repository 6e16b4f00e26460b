/** The ladder, limits, freezes and rates as a caller meets them. */
import OpenAI from "openai";
import { expect, it } from "vitest";
import { freezeConsumer } from "@/lib/control/consumers";
import { setRateLimit } from "@/lib/control/rate-limits";
import { testPrincipal } from "../factories";
import type { GatewayHost } from "./host";
import { asking, callerOf, post, raw, settled, upstreamCalls, USER } from "./host";

export function refusesOnBudget(host: () => GatewayHost): void {
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
    const call = (control: object, options: OpenAI.RequestOptions = {}) =>
      client.chat.completions
        .create(
          {
            model: "sandbox-large",
            messages: USER,
            max_tokens: 10,
            ...asking({ completionTokens: 10, ...control }),
          },
          options,
        )
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
    // A protected rung says when to come back; the client would wait for it.
    await expect(call({}, { maxRetries: 0 })).rejects.toMatchObject({ status: 429, code: "PROTECTED_RUNG" });
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
