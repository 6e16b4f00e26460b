import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "./server";
import { billLine } from "./testing/client";
import { callRoute, EVERY_ROUTE } from "./testing/every-route";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ currency: "EUR" });
});
afterAll(() => sandbox.close());

const samples = EVERY_ROUTE.map((sample) => [`${sample.path} ${JSON.stringify(sample.body)}`, sample] as const);

describe.each(samples)("%s", (_name, sample) => {
  it("is answered, and billed to the nano under its tag", async () => {
    const tag = randomUUID();
    const answer = await callRoute(sandbox, sample, tag);
    expect([answer.status, answer.bytes.toString("latin1", 0, 300)]).toEqual([200, expect.any(String)]);
    const { amountNanos } = sample;
    expect(await billLine(sandbox, tag)).toMatchObject({ key: expect.stringMatching(/^1234:/), amountNanos });
  });

  it("fails as it is asked to, unbilled unless it is billed anyway", async () => {
    const tags = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const;
    expect((await callRoute(sandbox, sample, tags[0], { status: 503 })).status).toBe(503);
    expect((await callRoute(sandbox, sample, tags[1], { redirect: "/health" })).status).toBe(307);
    await expect(callRoute(sandbox, sample, tags[2], { fault: "close_socket" })).rejects.toThrow();
    await expect(callRoute(sandbox, sample, tags[3], { fault: "wrong_gzip" })).rejects.toThrow();
    expect((await callRoute(sandbox, sample, tags[4], { error: "rate_limit", billAnyway: true })).status).toBe(429);
    for (const tag of tags.slice(0, 4)) expect(await billLine(sandbox, tag)).toBeUndefined();
    expect(await billLine(sandbox, tags[4])).toMatchObject({ amountNanos: sample.amountNanos });
  });

  it("is the same in small pieces, and breaks off at a byte", async () => {
    const tags = [randomUUID(), randomUUID(), randomUUID()] as const;
    const whole = await callRoute(sandbox, sample, tags[0]);
    const pieces = await callRoute(sandbox, sample, tags[1], { splitAt: 61 });
    // Ids and times differ, but not in length.
    expect(pieces.bytes.length).toBe(whole.bytes.length);
    await expect(callRoute(sandbox, sample, tags[2], { cutAfterBytes: 10 })).rejects.toThrow();
    expect(await billLine(sandbox, tags[2])).toMatchObject({ aborted: true });
  });
});

it("the bill adds up over all routes, key by key and model by model, in its currency", async () => {
  interface Page {
    readonly currency: string;
    readonly lines: { readonly key: string; readonly model: string; readonly amountNanos: string }[];
    readonly totals: Record<string, Record<string, { amountNanos: string }>>;
  }
  const page = (await (await fetch(`${sandbox.url}/bill?limit=50000`)).json()) as Page;
  const sums = new Map<string, bigint>();
  for (const { key, model, amountNanos } of page.lines) {
    sums.set(`${key} ${model}`, (sums.get(`${key} ${model}`) ?? 0n) + BigInt(amountNanos));
  }
  const totals = Object.entries(page.totals).flatMap(([key, models]) =>
    Object.entries(models).map(([model, total]) => [`${key} ${model}`, BigInt(total.amountNanos)] as const),
  );
  expect(page.currency).toBe("EUR");
  expect(page.lines.length).toBeGreaterThan(4 * EVERY_ROUTE.length);
  expect(new Map(totals)).toEqual(sums);
});
