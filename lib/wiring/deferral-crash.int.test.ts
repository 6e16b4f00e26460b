/** A worker that is killed while a deferred call runs: real processes, a real provider, and `kill -9`. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ensureGeneration } from "@/lib/control/recovery";
import { sweepReservations } from "@/lib/control/sweep";
import type { Child } from "@/lib/services/child";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import type { TestOrganisation } from "@/lib/testing/factories";
import { TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import type { RunningGateway } from "./gateway";

const ROOT = join(import.meta.dirname, "../..");

let bench: TestBench;
let gateway: RunningGateway;
let redisUrl: string;
beforeAll(async () => {
  redisUrl = (await startPrivateRedis()).url;
  bench = await startTestBench(await testDatabaseUrl(), redisUrl);
  gateway = await bench.gateway();
});
afterAll(() => bench.close());

async function startWorkerProcess(): Promise<Child> {
  return startChild({
    name: "worker",
    command: process.execPath,
    args: ["--import", "tsx", join(ROOT, "workers/main.ts")],
    cwd: ROOT,
    logFile: join(throwAwayFolder("spillway-worker"), "worker.log"),
    env: {
      DATABASE_URL: await testDatabaseUrl(),
      REDIS_URL: redisUrl,
      WORKER_PORT: String(await freePort()),
      SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
      SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      NODE_ENV: "production",
      LOG_LEVEL: "warn",
      SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
    },
  });
}

async function call(made: TestOrganisation, method: "GET" | "POST", path: string, body?: object): Promise<Response> {
  const request = new Request(`http://gateway.test/api/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${made.apiKey.secret}`, prefer: "respond-async" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return gateway.handle(request, { waitUntil: () => undefined });
}

async function upstreamCalls(): Promise<number> {
  const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as { requests: { path: string }[] };
  return calls.requests.filter(({ path }) => path.includes("chat/completions")).length;
}

it("kill -9 in mid-call sends nothing twice: the call has failed, and its hold is booked once", async () => {
  const made = await bench.organisation({ policy: { deferral: { deadlineSeconds: 3_600, keepSeconds: 600 } } });
  const accepted = await call(made, "POST", "chat/completions", {
    model: "sandbox-small",
    max_tokens: 16,
    messages: [{ role: "user", content: "hi" }],
    sandbox: { latencyMs: 20_000 },
  });
  expect(accepted.status).toBe(202);
  const { id } = (await accepted.json()) as { id: string };
  const first = await startWorkerProcess();
  await expect.poll(upstreamCalls, { timeout: 30_000 }).toBe(1);
  process.kill(first.pid, "SIGKILL");
  await first.exited;

  const view = async () => (await (await call(made, "GET", `deferred/${id}`)).json()) as Record<string, unknown>;
  expect(await view()).toMatchObject({ status: "running" });
  // As if the dead worker's lease had run out, which takes a minute.
  await bench.control.db.pool.query("UPDATE deferred_calls SET claimed_until = now() - interval '1 second'");
  const second = await startWorkerProcess();
  const counted = () => bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
  await expect.poll(view, { timeout: 60_000 }).toMatchObject({ status: "failed", code: "outcome_unknown" });
  await expect
    .poll(
      async () => {
        await sweepReservations(bench.books, made.organisationId);
        return (await counted()).held;
      },
      { timeout: 30_000 },
    )
    .toBe(0n);
  await second.stop();
  expect(await upstreamCalls()).toBe(1);
  await ensureGeneration(bench.books, made.organisationId);
  await bench.book(made.organisationId);
  const entries = await bench.ledger(made.organisationId);
  expect(entries).toMatchObject([{ outcome: "unknown", isEstimated: true }]);
  expect((await counted()).settled).toBe(entries[0]?.amount);
}, 150_000);
