/** What the parts of the contract share: a host under test, a caller with a company of its own, and views of both ends. */
import OpenAI from "openai";
import type { TestOrganisation, TestOrganisationOptions } from "../factories";
import type { TestBench } from "../running-gateway";

export interface GatewayHost {
  readonly bench: TestBench;
  /** With `/api/v1`. */
  readonly baseURL: string;
  readonly fetch: typeof fetch;
  close(): Promise<void>;
}

export const USER = [{ role: "user" as const, content: "hello" }];

/** What the sandbox is asked for travels in the body, as a field the gateway does not know. */
export function asking(control: Record<string, unknown>): object {
  return { sandbox: control };
}

export interface Caller {
  readonly made: TestOrganisation;
  readonly client: OpenAI;
  /** Requests the client sent, retries included. */
  readonly sent: () => number;
}

export async function callerOf(host: GatewayHost, options: TestOrganisationOptions = {}): Promise<Caller> {
  const made = await host.bench.organisation(options);
  let sent = 0;
  const client = new OpenAI({
    baseURL: host.baseURL,
    apiKey: made.apiKey.secret,
    fetch: (input, init) => {
      sent += 1;
      return host.fetch(input, init);
    },
  });
  return { made, client, sent: () => sent };
}

export async function upstreamCalls(host: GatewayHost): Promise<number> {
  const calls = (await (await fetch(`${host.bench.sandbox.url}/calls`)).json()) as { byPath: Record<string, number> };
  return Object.values(calls.byPath).reduce((sum, count) => sum + count, 0);
}

export async function lastUpstream(host: GatewayHost): Promise<{ body: string; headers: Record<string, string> }> {
  const calls = (await (await fetch(`${host.bench.sandbox.url}/calls`)).json()) as {
    requests: { body: string; headers: Record<string, string> }[];
  };
  const last = calls.requests.at(-1);
  if (!last) throw new Error("the upstream saw nothing");
  return last;
}

export async function settled(host: GatewayHost, made: TestOrganisation): Promise<{ settled: bigint; held: bigint }> {
  return host.bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
}

export async function raw(host: GatewayHost, path: string, init: RequestInit): Promise<Response> {
  return host.fetch(`${host.baseURL}${path}`, init);
}

export function post(secret: string, body: string | Uint8Array<ArrayBuffer>): RequestInit {
  return { method: "POST", headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" }, body };
}
