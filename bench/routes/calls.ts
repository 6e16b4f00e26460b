/** Calls of the samples, and what provider, counters and ledger say before and after them. */
import { keysOf } from "@/lib/redis/keys";
import { waitUntil } from "@/lib/services/wait";
import type { Company } from "../harness/company";
import { chatBody } from "../harness/load";
import type { BenchStack } from "../harness/stack";
import { readCounters } from "../harness/three-books";
import type { Sample } from "./samples";

export interface Answer {
  readonly status: number;
  /** Of a refusal, in whatever shape; "" for an answer. */
  readonly code: string;
  readonly requestId: string;
  /** What the gateway says it did: pass, static, ... */
  readonly decision: string;
  /** Of what was made; "" where nothing was. */
  readonly id: string;
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string | number | null;
    readonly details?: readonly { readonly reason?: string }[];
  };
}

/** Google's shape has the status for a code, and the reason in its details. */
function codeOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as ErrorBody;
    return error?.details?.find(({ reason }) => reason !== undefined)?.reason ?? String(error?.code ?? "");
  } catch {
    return "";
  }
}

function gatewayUrl(stack: BenchStack): string {
  return stack.gateways[0]?.url ?? "";
}

export async function callSample(
  stack: BenchStack,
  sample: Sample,
  as: {
    readonly secret: string;
    readonly model?: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** Of which batches are made. */
    readonly fileId?: string;
  },
): Promise<Answer> {
  const { path, body } = sample.call(as.model ?? sample.model.name, as.fileId);
  const headers = {
    authorization: `Bearer ${as.secret}`,
    ...(typeof body === "string" ? { "content-type": "application/json" } : {}),
    ...as.headers,
  };
  const base = path.startsWith("models/") ? "v1beta" : "v1";
  const url = `${gatewayUrl(stack)}/${base}/${path}`;
  try {
    const answer = await fetch(url, { method: "POST", headers, body });
    const text = await answer.text();
    return {
      status: answer.status,
      code: answer.status === 200 ? "" : codeOf(text),
      requestId: answer.headers.get("x-request-id") ?? "",
      decision: answer.headers.get("x-spillway-decision") ?? "",
      id: /"id":"(file-[\w-]+)"/u.exec(text)?.[1] ?? "",
    };
  } catch (error) {
    // A connection that is cut tells no reason.
    return { status: 0, code: `no answer: ${reasonOf(error)}`, requestId: "", decision: "", id: "" };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** What workers ask about batches and responses of before: no call of a key. */
const ASKED_BY_WORKERS = new Set(["/v1/batches/{batch}", "/v1/files/{file}/content", "/v1/responses/{response}"]);

/** All calls that the provider has seen, to whatever path. */
export async function upstreamCalls(stack: BenchStack): Promise<number> {
  const answer = await fetch(`${stack.sandbox.url}/calls`);
  const { byPath } = (await answer.json()) as { byPath: Readonly<Record<string, number>> };
  return Object.entries(byPath).reduce((sum, [path, count]) => (ASKED_BY_WORKERS.has(path) ? sum : sum + count), 0);
}

/** Everything that a call could have moved, as one text to compare: counters, open reservations, usage events, ledger. */
export async function readMoney(stack: BenchStack, companies: readonly Company[]): Promise<string> {
  const ids = companies.map((company) => company.organisationId);
  const counters = (await readCounters(stack, ids))
    .filter(({ settled, held }) => settled !== 0n || held !== 0n)
    .map(({ budgetId, periodId, settled, held }) => `${budgetId} ${periodId} ${String(settled)} ${String(held)}`)
    .sort();
  const open: number[] = [];
  for (const id of ids) {
    const { usage, deadlines } = keysOf(id);
    open.push(await stack.store.redis.xlen(usage), await stack.store.redis.zcard(deadlines));
  }
  const { rows } = await stack.control.db.pool.query<{ entries: string }>(
    "select count(*)::text as entries from ledger_entries where organisation_id = any($1)",
    [ids],
  );
  return [...counters, ...open.map(String), rows[0]?.entries ?? ""].join("\n");
}

/** A plain chat call that costs what `use` says. Throws where it is not served: the state would be another. */
export async function useUp(
  stack: BenchStack,
  secret: string,
  use: { readonly promptTokens: number; readonly completionTokens: number },
): Promise<void> {
  const body = chatBody({ model: "sandbox-small", prompt: "hello", maxTokens: use.completionTokens, sandbox: use });
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const answer = await fetch(`${gatewayUrl(stack)}/v1/chat/completions`, { method: "POST", headers, body });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`the call to be served was answered ${String(answer.status)}: ${text}`);
}

/** A stream that runs until `leave` is called; `leave` resolves when the gateway has let it go. */
export async function holdPlace(stack: BenchStack, secret: string): Promise<{ readonly leave: () => Promise<void> }> {
  const sandbox = { completionTokens: 1000, chunkDelayMs: 1_000 };
  const body = chatBody({ model: "sandbox-small", prompt: "hello", maxTokens: 1000, stream: true, sandbox });
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const abort = new AbortController();
  const url = `${gatewayUrl(stack)}/v1/chat/completions`;
  const answer = await fetch(url, { method: "POST", headers, body, signal: abort.signal });
  if (answer.status !== 200) throw new Error(`the call to be under way was answered ${String(answer.status)}`);
  const activeCalls = async () =>
    ((await (await fetch(`${stack.sandbox.url}/calls`)).json()) as { activeCalls: number }).activeCalls;
  return {
    leave: async () => {
      abort.abort();
      await waitUntil(async () => (await activeCalls()) === 0, { timeoutMs: 5_000, everyMs: 20 });
    },
  };
}
