/** The rig of deferred calls: a gateway that takes them, and a worker whose clock the test sets ahead. Redis, Postgres and provider are real. */
import { expect } from "vitest";
import type { DeferredDeps } from "@/lib/control/deferred-calls";
import { runDueDeferred, takeOverDeferred } from "@/lib/control/deferred-calls";
import type { PolicyDocument } from "@/lib/domain/policy";
import { DeferredBoxes } from "@/lib/redis/deferred-calls";
import { createDeferredRunner } from "@/lib/wiring/deferred-runner";
import type { TestOrganisation } from "./factories";
import { TEST_MASTER_KEY, TEST_PEPPER } from "./factories";
import type { TestBench } from "./running-gateway";
import { startTestBench } from "./running-gateway";
import { testDatabaseUrl, testRedisUrl } from "./services";

export const WAITS: PolicyDocument = { deferral: { deadlineSeconds: 3_600, keepSeconds: 600 } };
export const PROMPT = "a prompt that nobody else may read";
export const LATER = { headers: { prefer: "respond-async" } };

export interface DeferralCall {
  readonly method?: string;
  readonly path?: string;
  readonly secret?: string;
  readonly headers?: Record<string, string>;
  readonly control?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
}

export interface DeferralView {
  readonly id: string;
  readonly status: string;
  readonly code: string | null;
  readonly answer?: { readonly status: number; readonly body: unknown; readonly request_id: string };
}

export interface DeferralRig {
  readonly bench: TestBench;
  readonly deps: DeferredDeps;
  /** One call of the organisation's key: a chat call unless it says otherwise. */
  call(made: TestOrganisation, options?: DeferralCall): Promise<Response>;
  /** A call that is taken for later; its id. */
  take(made: TestOrganisation, options?: DeferralCall): Promise<string>;
  view(made: TestOrganisation, id: string): Promise<DeferralView>;
  /** One round of a worker. */
  work(made: TestOrganisation, using?: DeferredDeps): Promise<void>;
  /** Sets the worker's clock ahead, by so much more. */
  later(ms: number): void;
  upstreamCalls(made: TestOrganisation): Promise<number>;
  /** Ledger entries once nothing is held any more. */
  entries(made: TestOrganisation): Promise<number>;
  close(): Promise<void>;
}

export async function startDeferralRig(redisUrl = testRedisUrl()): Promise<DeferralRig> {
  const bench = await startTestBench(await testDatabaseUrl(), redisUrl);
  const gateway = await bench.gateway();
  const settings = { redisUrl, pepper: TEST_PEPPER, masterKey: TEST_MASTER_KEY };
  const runner = createDeferredRunner({ ...settings, outboundAllow: ["127.0.0.1"] });
  let aheadMs = 0;
  const deps: DeferredDeps = {
    db: bench.control.db,
    store: bench.store,
    clock: { nowMs: () => Date.now() + aheadMs },
    masterKey: TEST_MASTER_KEY,
    boxes: new DeferredBoxes(TEST_MASTER_KEY),
    run: (order) => runner.run(order),
  };
  const call = async (made: TestOrganisation, options: DeferralCall = {}): Promise<Response> => {
    const method = options.method ?? "POST";
    const messages = [{ role: "user", content: PROMPT }];
    const sent = { model: "sandbox-small", max_tokens: 64, messages, sandbox: options.control ?? {}, ...options.body };
    const request = new Request(`http://gateway.test/api/v1/${options.path ?? "chat/completions"}`, {
      method,
      headers: { authorization: `Bearer ${options.secret ?? made.apiKey.secret}`, ...options.headers },
      ...(method === "POST" ? { body: JSON.stringify(sent) } : {}),
    });
    return gateway.handle(request, { waitUntil: () => undefined });
  };
  return {
    bench,
    deps,
    call,
    take: async (made, options = LATER) => {
      const response = await call(made, options);
      expect(response.status).toBe(202);
      return ((await response.json()) as DeferralView).id;
    },
    view: async (made, id) =>
      (await (await call(made, { method: "GET", path: `deferred/${id}` })).json()) as DeferralView,
    work: async (made, using = deps) => {
      await takeOverDeferred(using, made.organisationId);
      await runDueDeferred(using);
    },
    later: (ms) => {
      aheadMs += ms;
    },
    upstreamCalls: async (made) => {
      const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as {
        requests: { headers: Record<string, string> }[];
      };
      return calls.requests.filter(({ headers }) => headers["x-spillway-request"]?.includes(made.organisationId))
        .length;
    },
    entries: async (made) => {
      const budgetId = made.budgets.organisation?.id ?? "";
      await expect.poll(async () => (await bench.counter(made.organisationId, budgetId)).held).toBe(0n);
      await bench.book(made.organisationId);
      return (await bench.ledger(made.organisationId)).length;
    },
    close: async () => {
      await runner.close();
      await bench.close();
    },
  };
}
