/** Holds that follow a stream: what a short budget still lets through, how a stream ends that may go no further, and the books. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateBudget } from "@/lib/control/budgets";
import { freezeConsumer } from "@/lib/control/consumers";
import type { PolicyDocument } from "@/lib/domain/policy";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { TestOrganisation } from "@/lib/testing/factories";
import { testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { asking, post, raw, settled, USER } from "@/lib/testing/gateway-contract/host";
import type { RouteCaller } from "@/lib/testing/gateway-contract/route-caller";
import { routeCallerOf } from "@/lib/testing/gateway-contract/route-caller";
import {
  addModel,
  addProvider,
  billed,
  CLAUDE,
  expectBooksAgree,
  publish,
} from "@/lib/testing/gateway-contract/route-models";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { startSlowProvider } from "@/lib/testing/slow-provider";

const FOLLOWING: PolicyDocument = policyDocumentSchema.parse({
  reserve: { mode: "incremental", sliceTokens: 256, marginTokens: 64 },
});
/** A long answer at the pace of a quick provider. */
const LONG = { promptTokens: 10, completionTokens: 3000, chunkDelayMs: 2 };
const MAX_TOKENS = 16_000;

let host: GatewayHost;
beforeAll(async () => {
  const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const gateway = await bench.gateway();
  host = {
    bench,
    baseURL: "http://gateway.test/api/v1",
    fetch: (input, init) => gateway.handle(new Request(input, init), { waitUntil: () => undefined }),
    close: () => bench.close(),
  };
});
afterAll(() => host.close());

/** A company with so much money, in nanos of USD. */
function companyWith(organisation: bigint, policy = FOLLOWING): Promise<RouteCaller> {
  return routeCallerOf(host, { budgets: { organisation }, policy });
}

async function activeUpstream(): Promise<number> {
  const calls = (await (await fetch(`${host.bench.sandbox.url}/calls`)).json()) as { activeCalls: number };
  return calls.activeCalls;
}

interface Entry {
  readonly outcome: string;
  readonly is_estimated: boolean;
  readonly amount: string;
  readonly usage: { readonly outputTokens: number };
  readonly explanation: { readonly shortenedBy?: string };
}

async function booked(made: TestOrganisation): Promise<Entry[]> {
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  await host.bench.book(made.organisationId);
  const { rows } = await host.bench.books.db.pool.query<Entry>(
    `SELECT outcome, is_estimated, amount::text, usage, explanation FROM ledger_entries
     WHERE organisation_id = $1 ORDER BY ledger_sequence`,
    [made.organisationId],
  );
  return rows;
}

/** The one call of the company was ended for want of money: closed upstream, booked as what came, and nowhere above the limit. */
async function expectShortened({ made, requestId }: RouteCaller, limit: bigint): Promise<void> {
  await expect.poll(activeUpstream, { timeout: 5_000 }).toBe(0);
  const [entry, ...others] = await booked(made);
  expect(others).toEqual([]);
  const shortenedBy = "ORGANIZATION_BUDGET_EXHAUSTED";
  expect(entry).toMatchObject({ outcome: "shortened", is_estimated: true, explanation: { shortenedBy } });
  expect(BigInt(entry?.amount ?? "0") <= limit).toBe(true);
  expect((await billed(host, requestId())) <= limit).toBe(true);
  expect(entry?.usage.outputTokens).toBeGreaterThan(100);
}

describe("a stream whose hold follows it", () => {
  const asked = { messages: USER, max_tokens: MAX_TOKENS, stream: true } as const;

  it("is served on money that its whole cap would not fit in, and a plain call is not", async () => {
    const caller = await companyWith(1_000_000n);
    const { made, openai, requestId } = caller;
    const control = asking({ promptTokens: 10, completionTokens: 20 });
    const stream = await openai.chat.completions.create({ model: "sandbox-small", ...asked, ...control });
    let last: string | null = null;
    for await (const chunk of stream) last = chunk.choices[0]?.finish_reason ?? last;
    expect(last).toBe("stop");
    expect(await expectBooksAgree(host, made, requestId())).toBe(10n * 150n + 20n * 600n);
    const plain = post(made.apiKey.secret, JSON.stringify({ model: "sandbox-small", ...asked, stream: false }));
    expect((await raw(host, "/chat/completions", plain)).status).toBe(429);
  });

  it("runs to its end where there is money, raised as it goes, and is booked to the nano", async () => {
    const { made, openai, requestId } = await companyWith(100_000_000n);
    const stream = await openai.chat.completions.create({
      ...{ model: "sandbox-small", ...asked, stream_options: { include_usage: true } },
      ...asking({ ...LONG, chunkDelayMs: 0 }),
    });
    let text = "";
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    expect(tokens).toBe(3000);
    expect(text).toMatch(/^w0 w1.* w2999$/u);
    expect(await expectBooksAgree(host, made, requestId())).toBe(10n * 150n + 3000n * 600n);
    expect(await booked(made)).toMatchObject([{ outcome: "ok", is_estimated: false }]);
  });

  it("never has more settled and held than the limit, however many run at once", async () => {
    const limit = 4_000_000n;
    const { made, openai } = await companyWith(limit);
    let isOver = false;
    const watched = (async () => {
      let most = 0n;
      while (!isOver) {
        const standing = await settled(host, made);
        if (standing.settled + standing.held > most) most = standing.settled + standing.held;
      }
      return most;
    })();
    const ends = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const stream = await openai.chat.completions
          .create({ model: "sandbox-small", ...asked, ...asking(LONG) }, { maxRetries: 0 })
          .catch(() => undefined);
        let last: string | null = null;
        for await (const chunk of stream ?? []) last = chunk.choices[0]?.finish_reason ?? last;
        return stream ? last : "refused";
      }),
    );
    isOver = true;
    expect((await watched) <= limit).toBe(true);
    expect(new Set(ends).has("length")).toBe(true);
    const entries = await booked(made);
    expect(entries.length).toBe(ends.filter((end) => end !== "refused").length);
    const sum = entries.reduce((total, { amount }) => total + BigInt(amount), 0n);
    expect(sum).toBe((await settled(host, made)).settled);
    expect(sum <= limit).toBe(true);
  });

  it("goes on by a top-up that comes while it runs", async () => {
    const { made, openai } = await companyWith(1_000_000n);
    const stream = await openai.chat.completions.create({ model: "sandbox-small", ...asked, ...asking(LONG) });
    let last: string | null = null;
    let isFirst = true;
    for await (const chunk of stream) {
      if (isFirst) await setLimit(made, "100000000");
      isFirst = false;
      last = chunk.choices[0]?.finish_reason ?? last;
    }
    expect(last).toBe("stop");
    expect(await booked(made)).toMatchObject([{ outcome: "ok" }]);
  });

  it("ends where its caller is frozen while it runs, and says so", async () => {
    const { made } = await companyWith(100_000_000n);
    const body = JSON.stringify({ model: "sandbox-small", ...asked, ...asking(LONG) });
    const answer = await raw(host, "/chat/completions", post(made.apiKey.secret, body));
    await freezeConsumer(host.bench.control, testPrincipal, {
      organisationId: made.organisationId,
      consumerId: made.consumers.team,
    });
    const text = await answer.text();
    expect(text).toContain(": spillway consumer_frozen");
    expect(text).toContain('"finish_reason":"length"');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(await booked(made)).toMatchObject([
      { outcome: "shortened", explanation: { shortenedBy: "consumer_frozen" } },
    ]);
  });

  it("that thinks unseen is held whole from the beginning", async () => {
    const { made, openai } = await companyWith(1_000_000n);
    const body = { model: "sandbox-small", ...asked, reasoning_effort: "low" } as const;
    await expect(openai.chat.completions.create(body)).rejects.toMatchObject({ status: 429 });
    expect(await booked(made)).toEqual([]);
  });

  async function setLimit(made: TestOrganisation, limitAmount: string): Promise<void> {
    await updateBudget(host.bench.control, testPrincipal, {
      organisationId: made.organisationId,
      budgetId: made.budgets.organisation?.id ?? "",
      expectedVersion: String(made.budgets.organisation?.limitVersion),
      limitAmount,
    });
  }
});

describe("a stream that may go no further ends well for its SDK", () => {
  it("OpenAI chat, with its usage and why", async () => {
    const limit = 1_000_000n;
    const caller = await companyWith(limit);
    const asked = { model: "sandbox-small", messages: USER, max_tokens: MAX_TOKENS, stream: true, ...asking(LONG) };
    const stream = await caller.openai.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean)).toEqual(["length"]);
    expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(100);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toMatch(/^w0 w1( w\d+)*( w?)?$/u);
    await expectShortened(caller, limit);
  });

  it("OpenAI chat, with a comment that says why", async () => {
    const { made } = await companyWith(1_000_000n);
    const asked = { model: "sandbox-small", messages: USER, max_tokens: MAX_TOKENS, stream: true, ...asking(LONG) };
    const answer = await raw(host, "/chat/completions", post(made.apiKey.secret, JSON.stringify(asked)));
    const [comment, chunk, done, rest] = (await answer.text()).split("\n\n").slice(-4);
    expect([comment, done, rest]).toEqual([": spillway ORGANIZATION_BUDGET_EXHAUSTED", "data: [DONE]", ""]);
    expect(JSON.parse(chunk?.slice(6) ?? "{}")).toMatchObject({ spillway_note: "ORGANIZATION_BUDGET_EXHAUSTED" });
  });

  it("OpenAI completions", async () => {
    const limit = 3_000_000n;
    const caller = await companyWith(limit);
    const body = { model: "sandbox-instruct", prompt: "Say", max_tokens: MAX_TOKENS, stream: true, ...asking(LONG) };
    const stream = await caller.openai.completions.create({ ...body, stream: true });
    let last: string | null = null;
    for await (const chunk of stream) last = chunk.choices[0]?.finish_reason ?? last;
    expect(last).toBe("length");
    await expectShortened(caller, limit);
  });

  it("OpenAI responses", async () => {
    const limit = 1_000_000n;
    const caller = await companyWith(limit);
    const body = { model: "sandbox-small", input: "Say", max_output_tokens: MAX_TOKENS, ...asking(LONG) };
    const response = await caller.openai.responses.stream(body).finalResponse();
    expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    expect(response.output_text).toMatch(/^w0 w1/u);
    await expectShortened(caller, limit);
  });

  it("Anthropic messages", async () => {
    const limit = 10_000_000n;
    const caller = await companyWith(limit);
    const body = { model: CLAUDE.name, messages: USER, max_tokens: MAX_TOKENS, ...asking(LONG) };
    const message = await caller.anthropic.messages.stream(body).finalMessage();
    expect(message.stop_reason).toBe("max_tokens");
    expect(message.content).toMatchObject([{ type: "text", text: expect.stringMatching(/^w0 w1/u) as string }]);
    await expectShortened(caller, limit);
  });

  it("Gemini", async () => {
    const limit = 4_000_000n;
    const caller = await companyWith(limit);
    const url = `${host.baseURL.replace(/\/v1$/u, "")}/v1/models/sandbox-gemini-flash:streamGenerateContent?alt=sse`;
    const body = {
      contents: [{ role: "user", parts: [{ text: "Say" }] }],
      generationConfig: { maxOutputTokens: MAX_TOKENS },
      sandbox: LONG,
    };
    const answer = await host.fetch(url, post(caller.made.apiKey.secret, JSON.stringify(body)));
    const events = (await answer.text()).trimEnd().split(/\r?\n\r?\n/u);
    expect(events.every((event) => event.startsWith("data: "))).toBe(true);
    const last = JSON.parse(events.at(-1)?.slice(6) ?? "{}") as object;
    expect(last).toMatchObject({ candidates: [{ finishReason: "MAX_TOKENS" }] });
    await expectShortened({ ...caller, requestId: () => answer.headers.get("x-request-id") ?? "" }, limit);
  });

  it.each([
    ["anthropic", "anthropic"],
    ["deepseek", "chat"],
  ] as const)("translated from the shape of %s", async (kind, shape) => {
    const limit = 1_000_000n;
    const provider = await startSlowProvider(shape);
    const caller = await companyWith(limit);
    const { made } = caller;
    const providerId = await addProvider(host, made, kind, provider.url);
    const rates = { inputPerToken: "0", outputPerToken: "0.000001" };
    await addModel(host, made, { name: "other", kind: "chat", rates }, [{ providerId }]);
    await publish(host, made);
    const body = { model: "other", messages: USER, max_tokens: MAX_TOKENS };
    if (kind === "anthropic") {
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      const chunks = [];
      for await (const chunk of await caller.openai.chat.completions.create({ ...body, ...options }))
        chunks.push(chunk);
      expect(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean)).toEqual(["length"]);
      expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(100);
    } else {
      const message = await caller.anthropic.messages.stream(body).finalMessage();
      expect(message.stop_reason).toBe("max_tokens");
      expect(message.content).toMatchObject([{ type: "text", text: expect.stringMatching(/^w0 w1/u) as string }]);
    }
    await expect.poll(provider.open).toBe(0);
    await provider.close();
    const [entry] = await booked(made);
    expect(entry).toMatchObject({ outcome: "shortened" });
    expect(BigInt(entry?.amount ?? "0") <= limit).toBe(true);
  });
});
