import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";

let bench: TestBench;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
});
afterAll(() => bench.close());

describe("smoke", () => {
  it("serves a chat", async () => {
    const made = await bench.organisation();
    const gateway = await bench.gateway();
    const pending: Promise<unknown>[] = [];
    const response = await gateway.handle(
      new Request("http://x/api/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${made.apiKey.secret}` },
        body: JSON.stringify({ model: "sandbox-small", messages: [{ role: "user", content: "hello" }] }),
      }),
      { waitUntil: (promise) => pending.push(promise) },
    );
    console.log(response.status, Object.fromEntries(response.headers), await response.text());
    await Promise.all(pending);
    const budget = made.budgets.organisation;
    console.log(budget && (await bench.counter(made.organisationId, budget.id)));
    expect(response.status).toBe(200);
  });
});
