/** A call taken for later is run once, when money allows, by whichever worker is alive: Redis, Postgres and provider are real. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateBudget } from "@/lib/control/budgets";
import type { DeferredDeps } from "@/lib/control/deferred-calls";
import { pruneDeferred, runDueDeferred, takeOverDeferred } from "@/lib/control/deferred-calls";
import type { PolicyDocument } from "@/lib/domain/policy";
import { DeferredBoxes } from "@/lib/redis/deferred-calls";
import { keysOf } from "@/lib/redis/keys";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, TEST_MASTER_KEY, TEST_PEPPER, testPrincipal } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { DeferredRunner } from "./deferred-runner";
import { createDeferredRunner } from "./deferred-runner";
import type { RunningGateway } from "./gateway";

const WAITS: PolicyDocument = { deferral: { deadlineSeconds: 3_600, keepSeconds: 600 } };
const PROMPT = "a prompt that nobody else may read";

let bench: TestBench;
let gateway: RunningGateway;
let runner: DeferredRunner;
/** How far this test's worker is ahead of the clock. */
let aheadMs = 0;
let deps: DeferredDeps;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  gateway = await bench.gateway();
  const settings = { redisUrl: testRedisUrl(), pepper: TEST_PEPPER, masterKey: TEST_MASTER_KEY };
  runner = createDeferredRunner({ ...settings, outboundAllow: ["127.0.0.1"] });
  deps = {
    db: bench.control.db,
    store: bench.store,
    clock: { nowMs: () => Date.now() + aheadMs },
    boxes: new DeferredBoxes(TEST_MASTER_KEY),
    run: (order) => runner.run(order),
  };
});
afterAll(async () => {
  await runner.close();
  await bench.close();
});

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly secret?: string;
  readonly headers?: Record<string, string>;
  readonly control?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
}

async function call(made: TestOrganisation, options: Call = {}): Promise<Response> {
  const method = options.method ?? "POST";
  const messages = [{ role: "user", content: PROMPT }];
  const sent = { model: "sandbox-small", max_tokens: 64, messages, sandbox: options.control ?? {}, ...options.body };
  const request = new Request(`http://gateway.test/api/v1/${options.path ?? "chat/completions"}`, {
    method,
    headers: { authorization: `Bearer ${options.secret ?? made.apiKey.secret}`, ...options.headers },
    ...(method === "POST" ? { body: JSON.stringify(sent) } : {}),
  });
  return gateway.handle(request, { waitUntil: () => undefined });
}

const LATER = { headers: { prefer: "respond-async" } };

interface View {
  readonly id: string;
  readonly status: string;
  readonly code: string | null;
  readonly answer?: { readonly status: number; readonly body: unknown; readonly request_id: string };
}

async function take(made: TestOrganisation, options: Call = LATER): Promise<string> {
  const response = await call(made, options);
  expect(response.status).toBe(202);
  return ((await response.json()) as View).id;
}

async function view(made: TestOrganisation, id: string): Promise<View> {
  return (await (await call(made, { method: "GET", path: `deferred/${id}` })).json()) as View;
}

/** One round of a worker. */
async function work(made: TestOrganisation, using: DeferredDeps = deps): Promise<void> {
  await takeOverDeferred(using, made.organisationId);
  await runDueDeferred(using);
}

async function upstreamCalls(made: TestOrganisation): Promise<number> {
  const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as {
    requests: { headers: Record<string, string> }[];
  };
  return calls.requests.filter(({ headers }) => headers["x-spillway-request"]?.includes(made.organisationId)).length;
}

async function entries(made: TestOrganisation): Promise<number> {
  const budgetId = made.budgets.organisation?.id ?? "";
  await expect.poll(async () => (await bench.counter(made.organisationId, budgetId)).held).toBe(0n);
  await bench.book(made.organisationId);
  return (await bench.ledger(made.organisationId)).length;
}

describe("Prefer: respond-async", () => {
  it("is answered with an id, and the answer is there after the worker ran the call, once", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const response = await call(made, LATER);
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as View;
    expect(response.headers.get("location")).toBe(`/api/v1/deferred/${id}`);
    expect(response.headers.get("preference-applied")).toBe("respond-async");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await view(made, id)).toMatchObject({ status: "pending", code: null });
    expect(await upstreamCalls(made)).toBe(0);

    await work(made);
    await work(made);
    const done = await view(made, id);
    expect(done).toMatchObject({ status: "done", answer: { status: 200, body: { object: "chat.completion" } } });
    expect(await upstreamCalls(made)).toBe(1);
    expect(await entries(made)).toBe(1);
    expect((await bench.ledger(made.organisationId))[0]?.requestId).toBe(done.answer?.request_id);
  });

  it("keeps a stream's events as text, and Anthropic's shape on its route", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const stream = await take(made, { ...LATER, body: { stream: true } });
    await work(made);
    const events = await view(made, stream);
    expect(events.status).toBe("done");
    expect(String(events.answer?.body).trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  it("is ignored where the policy keeps no text", async () => {
    const made = await bench.organisation({ policy: {} });
    expect((await call(made, LATER)).status).toBe(200);
  });

  it("is told to the key's app only: to anybody else there is no such call", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const other = await bench.organisation({ policy: WAITS });
    const id = await take(made);
    const path = `deferred/${id}`;
    expect((await call(made, { method: "GET", path, secret: other.apiKey.secret })).status).toBe(404);
    expect((await call(made, { method: "DELETE", path, secret: other.apiKey.secret })).status).toBe(404);
    expect((await call(made, { method: "GET", path: "deferred/dfr_nonsense" })).status).toBe(404);
    const { secret } = await createTestKey(bench.control, made.organisationId, made.consumers.app);
    const status = async () => (await call(made, { method: "GET", path, secret })).status;
    await expect.poll(status, { timeout: 5_000 }).toBe(200);
  });

  it("leaves no text of the call readable in Redis or Postgres, and drops it when its time is over", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const id = await take(made);
    const entry = await bench.store.redis.xrange(keysOf(made.organisationId).deferrals, "-", "+");
    expect(Buffer.from(entry[0]?.[1][3] ?? "", "base64").toString("latin1")).not.toContain(PROMPT);
    await work(made);
    const read = async () =>
      (
        await bench.control.db.pool.query<{ request_box: Buffer; answer_box: Buffer }>(
          "SELECT request_box, answer_box FROM deferred_calls WHERE id = $1",
          [id],
        )
      ).rows;
    const [row] = await read();
    expect(row?.request_box.toString("latin1")).not.toContain(PROMPT);
    expect(row?.answer_box.toString("latin1")).not.toContain("chat.completion");
    await pruneDeferred(deps);
    expect(await read()).toHaveLength(1);
    aheadMs += 601_000;
    await pruneDeferred(deps);
    expect(await read()).toHaveLength(0);
  });
});

describe("a rung that defers", () => {
  const DEFERS: PolicyDocument = {
    ...WAITS,
    ladders: {
      strict: {
        rungs: [{ atBasisPoints: 3_000, name: "protect", actions: { "*": { kind: "defer" } } }],
        overflow: "none",
      },
    },
  };

  /** So much of the budget is used up that the rung holds: 39 %. */
  async function partlySpent(policy: PolicyDocument): Promise<TestOrganisation> {
    const made = await bench.organisation({
      policy,
      budgets: { organisation: 100_000n },
      budget: { ladder: "strict" },
      key: { trafficClass: "offline" },
    });
    const used = { promptTokens: 20, completionTokens: 60 };
    expect((await call(made, { control: used })).status).toBe(200);
    return made;
  }

  async function topUp(made: TestOrganisation): Promise<void> {
    const budgetId = made.budgets.organisation?.id ?? "";
    const ref = { organisationId: made.organisationId, budgetId };
    await updateBudget(bench.control, testPrincipal, { ...ref, expectedVersion: "1", limitAmount: "100000000000" });
  }

  it("takes the call, tries it while there is no money without reaching anybody, and runs it after a top-up", async () => {
    const made = await partlySpent(DEFERS);
    await entries(made);
    const id = await take(made, {});
    const before = await upstreamCalls(made);
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "pending" });
    expect(await upstreamCalls(made)).toBe(before);
    await topUp(made);
    aheadMs += 120_000;
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "done", answer: { status: 200 } });
    expect(await upstreamCalls(made)).toBe(before + 1);
  });

  it("refuses where the policy keeps no text", async () => {
    const { deferral: _deferral, ...silent } = DEFERS;
    const made = await partlySpent(silent);
    await entries(made);
    expect((await call(made)).status).toBe(429);
  });

  it("lets the call expire at its deadline", async () => {
    const made = await partlySpent({ ...DEFERS, deferral: { deadlineSeconds: 60, keepSeconds: 600 } });
    await entries(made);
    const id = await take(made, {});
    await work(made);
    aheadMs += 61_000;
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "expired", code: "deadline_passed" });
    await topUp(made);
    aheadMs += 120_000;
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "expired" });
  });
});

describe("a deferred call that is cancelled", () => {
  it("is not run, whether the worker had it already or not", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const early = await take(made);
    const late = await take(made);
    const cancelled = await call(made, { method: "DELETE", path: `deferred/${early}` });
    expect(await cancelled.json()).toMatchObject({ status: "cancelled" });
    await takeOverDeferred(deps, made.organisationId);
    expect((await call(made, { path: `deferred/${late}/cancel` })).status).toBe(200);
    await work(made);
    expect(await view(made, early)).toMatchObject({ status: "cancelled" });
    expect(await view(made, late)).toMatchObject({ status: "cancelled" });
    expect(await upstreamCalls(made)).toBe(0);
  });

  it("stays what it is once it has ended, and cannot be cancelled while it runs", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const id = await take(made, { ...LATER, control: { latencyMs: 600 } });
    const running = work(made);
    await expect.poll(() => upstreamCalls(made)).toBe(1);
    expect((await call(made, { method: "DELETE", path: `deferred/${id}` })).status).toBe(409);
    await running;
    const after = await call(made, { method: "DELETE", path: `deferred/${id}` });
    expect(await after.json()).toMatchObject({ status: "done" });
  });
});

describe("workers that come and go", () => {
  it("run each call once, however many of them there are", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const ids = await Promise.all(Array.from({ length: 20 }, () => take(made)));
    await Promise.all([work(made), work(made), work(made)]);
    await work(made);
    for (const id of ids) expect(await view(made, id)).toMatchObject({ status: "done" });
    expect(await upstreamCalls(made)).toBe(20);
    expect(await entries(made)).toBe(20);
  });

  it("do not pay again for an answer that a worker had when it died", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const id = await take(made);
    const dying: DeferredDeps = {
      ...deps,
      run: async (order) => {
        await deps.run(order);
        throw new Error("killed before it could write anything down");
      },
    };
    await work(made, dying);
    expect(await view(made, id)).toMatchObject({ status: "running" });
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "running" });
    aheadMs += 61_000;
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "done", answer: { status: 200 } });
    expect(await upstreamCalls(made)).toBe(1);
    expect(await entries(made)).toBe(1);
  });

  it("tell gateways of a call that Redis has lost", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const id = await take(made);
    await takeOverDeferred(deps, made.organisationId);
    await bench.store.redis.del(keysOf(made.organisationId).deferred(id));
    await work(made);
    expect(await view(made, id)).toMatchObject({ status: "done" });
  });

  it("give a call up that the provider finds wrong, and say why", async () => {
    const made = await bench.organisation({ policy: WAITS });
    const control = { status: 400, errorCode: "context_length_exceeded" };
    const id = await take(made, { ...LATER, control });
    await work(made);
    expect(await view(made, id)).toMatchObject({
      status: "failed",
      code: "context_length_exceeded",
      answer: { status: 400 },
    });
  });
});
