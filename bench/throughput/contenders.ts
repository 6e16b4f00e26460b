/** The ways to the sandbox that are compared, and one round of calls through one of them. */
import { join } from "node:path";
import { keysOf } from "@/lib/redis/keys";
import { freePort } from "@/lib/services/free-port";
import { waitUntil } from "@/lib/services/wait";
import type { Company } from "../harness/company";
import { chatBody, inParallel, LoadClient } from "../harness/load";
import { startMeasured } from "../harness/measured-process";
import type { MeasuredProcess } from "../harness/measured-process";
import type { BenchSession } from "../harness/session";
import type { BenchStack } from "../harness/stack";

/** Calls under way at once. */
export const WIDTH = 64;
export const BARE_PROXY = "bench/throughput/bare-proxy.ts";
const PORTKEY = join(
  import.meta.dirname,
  "..",
  "..",
  "node_modules",
  "@portkey-ai",
  "gateway",
  "build",
  "start-server.js",
);
/** About a kilobyte, as a short question with some context is. */
const PROMPT = "Please summarise the following paragraph for a colleague who has only a minute to read it. ".repeat(11);
export const BODY = Buffer.from(chatBody({ model: "sandbox-small", prompt: PROMPT, maxTokens: 64 }));

/** One way to the sandbox: where calls go, under which key, and whose processor time they cost. */
export interface Contender {
  readonly name: string;
  readonly client: LoadClient;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly processes: readonly MeasuredProcess[];
  /** Resolves when all that the calls cause is done. */
  readonly finish: () => Promise<void>;
}

export interface Round {
  readonly calls: number;
  readonly seconds: number;
  /** In the order of the contender's processes. */
  readonly cpuMs: readonly number[];
}

export const total = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

export function perCpuSecond(rounds: readonly Round[]): number {
  return total(rounds.map((round) => round.calls)) / (total(rounds.flatMap((round) => round.cpuMs)) / 1000);
}

/** Ids of the answered calls go to `answered`. Throws where a call is not answered 200: nothing else may be measured. */
export async function run(contender: Contender, calls: number, answered: string[]): Promise<Round> {
  const before = contender.processes.map((one) => one.cpuMs());
  const startMs = performance.now();
  await inParallel(calls, WIDTH, async () => {
    const { status, text, requestId } = await contender.client.chat({
      key: contender.key,
      body: BODY,
      headers: contender.headers,
    });
    if (status !== 200) throw new Error(`${contender.name} answered ${String(status)}: ${text.slice(0, 300)}`);
    answered.push(requestId);
  });
  const seconds = (performance.now() - startMs) / 1000;
  await contender.finish();
  return { calls, seconds, cpuMs: contender.processes.map((one, index) => one.cpuMs() - (before[index] ?? 0)) };
}

function client(session: BenchSession, url: string): LoadClient {
  const made = new LoadClient([url], WIDTH);
  session.stops.add(() => made.close());
  return made;
}

export function spillway(session: BenchSession, stack: BenchStack, company: Company): Contender {
  const [gateway] = stack.gateways;
  const { worker, redis } = stack;
  const key = company.keys[0]?.secret;
  if (gateway === undefined || worker === undefined || key === undefined) throw new Error("the stack is not whole");
  const { usage } = keysOf(company.organisationId);
  const isBooked = async () => (await stack.store.redis.xlen(usage)) === 0;
  return {
    name: "spillway",
    client: client(session, gateway.url),
    key,
    headers: {},
    processes: [gateway, redis, worker],
    finish: async () => {
      if (!(await waitUntil(isBooked, { timeoutMs: 20_000, everyMs: 20 }))) throw new Error("the worker does not book");
    },
  };
}

export async function portkey(session: BenchSession, stack: BenchStack): Promise<Contender> {
  const port = String(await freePort());
  const options = {
    name: "portkey",
    command: process.execPath,
    args: [PORTKEY, `--port=${port}`, "--headless"],
    cwd: stack.folder,
    env: { PATH: process.env.PATH, NODE_ENV: "production" as const },
    logFile: join(stack.folder, "logs", "portkey.log"),
  };
  const running = await startMeasured(options, `http://127.0.0.1:${port}`);
  session.stops.add(running.child.stop);
  return {
    name: "@portkey-ai/gateway",
    client: client(session, running.url),
    key: "sandbox-portkey",
    headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": `${stack.sandbox.url}/v1` },
    processes: [running],
    finish: async () => undefined,
  };
}

export async function bareProxy(session: BenchSession, stack: BenchStack): Promise<Contender> {
  const running = await stack.startProgram("bare-proxy", BARE_PROXY, { BARE_PROXY_TARGET: stack.sandbox.url });
  return {
    name: "bare proxy",
    client: client(session, running.url),
    key: "sandbox-bare",
    headers: {},
    processes: [running],
    finish: async () => undefined,
  };
}
