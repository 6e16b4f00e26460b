/** The rig of the public bug reports: several gateways on one Redis, a company a test, and calls that say what the provider shall do. */
import { addPrice } from "@/lib/control/prices";
import type { RunningGateway } from "@/lib/wiring/gateway";
import type { TestOrganisation } from "./factories";
import { testPrincipal } from "./factories";
import type { TestBench } from "./running-gateway";
import { startTestBench } from "./running-gateway";
import { testDatabaseUrl, testRedisUrl } from "./services";

export interface BugCall {
  readonly control?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  readonly content?: string;
  readonly gateway?: RunningGateway;
  readonly signal?: AbortSignal;
}

export interface BugRig {
  readonly bench: TestBench;
  readonly gateways: readonly RunningGateway[];
  /** One chat call, at the next gateway in turn unless one is named. */
  chat(made: TestOrganisation, call?: BugCall): Promise<Response>;
  /** Settled and held of the budget at a level. */
  counter(
    made: TestOrganisation,
    level?: keyof TestOrganisation["budgets"],
  ): Promise<{ settled: bigint; held: bigint }>;
  /** Output at 10 USD a million, input at nothing: the cost of a call is its output. */
  freeInput(made: TestOrganisation): Promise<void>;
}

export function statuses(responses: readonly Response[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of responses) counts[String(status)] = (counts[String(status)] ?? 0) + 1;
  return counts;
}

function requestOf(made: TestOrganisation, call: BugCall): Request {
  const body = {
    model: "sandbox-large",
    messages: [{ role: "user", content: call.content ?? "hi" }],
    sandbox: call.control ?? {},
    ...call.body,
  };
  return new Request("http://gateway.test/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${made.apiKey.secret}` },
    body: JSON.stringify(body),
    ...(call.signal ? { signal: call.signal } : {}),
  });
}

export async function startBugRig(): Promise<BugRig> {
  const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const gateways = [await bench.gateway(), await bench.gateway(), await bench.gateway()];
  let turn = 0;
  return {
    bench,
    gateways,
    chat: async (made, call = {}) => {
      turn += 1;
      const gateway = call.gateway ?? gateways[turn % gateways.length];
      if (!gateway) throw new Error("no gateway");
      return gateway.handle(requestOf(made, call), { waitUntil: () => undefined });
    },
    counter: (made, level = "organisation") => bench.counter(made.organisationId, made.budgets[level]?.id ?? ""),
    freeInput: async (made) => {
      await addPrice(bench.control, testPrincipal, {
        organisationId: made.organisationId,
        modelId: made.models["sandbox-large"]?.id ?? "",
        currency: "USD",
        perMillion: { input: "0", output: "10.00" },
        confirmSuspicious: true,
      });
    },
  };
}
