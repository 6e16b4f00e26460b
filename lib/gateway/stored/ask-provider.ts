/** Calls to the provider about an object it holds, which cost nothing: what comes back, or what is told instead. */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { StoredObject } from "@/lib/domain/stored-object";
import type { Authenticated } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import { UpstreamFailure } from "../ports";
import { passableError } from "../stages/upstream-error";
import { upstreamErrorAnswer } from "../wire/error-response";
import { isBody } from "../wire/routes/fields";
import type { StoredAsked, StoredServing } from "./stored-call";
import { organisationOf } from "./stored-call";

const TIMEOUT_MS = 60_000;

export interface ProviderQuestion {
  readonly method: "GET" | "POST" | "DELETE";
  /** Name of the route with its id, as adapters know it: `files/file-1/content`. */
  readonly route: string;
  /** What is asked for beside; absent where nothing is. */
  readonly query?: string;
  /** Whether the answer is passed on as it comes. */
  readonly isStream: boolean;
}

/** No provider that this caller may reach holds it any more. */
function unreachable(object: StoredObject): Denial {
  return denial("object_not_found", { detail: object.id });
}

/** A good answer of the provider; or what the caller is told instead, a missing object as a denial. */
export async function askProvider(
  asked: StoredAsked,
  caller: Authenticated,
  object: StoredObject,
  question: ProviderQuestion,
  deps: StoredServing,
): Promise<UpstreamResponse | GatewayAnswer | Denial> {
  const { method, route, isStream, query = "" } = question;
  const provider = caller.view.providers.get(object.providerId);
  if (!provider || provider.disabled) return unreachable(object);
  if (caller.chain.environment === "test" && provider.isExternal) return denial("environment_forbidden");
  const adapter = deps.adapterOf(provider);
  const path = adapter.pathOf(provider, route, "");
  if (path === undefined) return unreachable(object);
  const context = asked.errorContext(caller);
  try {
    const answer = await deps.providers.send({
      ...{ organisationId: organisationOf(caller), provider, method, body: "" },
      path: query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`,
      headers: ["accept", "*/*", ...adapter.passedHeaders(route, (name) => asked.request.headers.get(name))],
      ...{ timeoutMs: TIMEOUT_MS, isStream },
    });
    if (answer.status < 300) return answer;
    if (answer.status === 404) {
      answer.body.cancel();
      return denial("object_not_found", { detail: object.id });
    }
    const passed = await passableError(answer);
    if (passed === undefined)
      return upstreamErrorAnswer({ status: 502, code: "upstream_error" }, context, deps.random());
    const headers = { "content-type": "application/json", "x-request-id": context.requestId };
    return { status: answer.status, headers, body: passed };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    const isLate = error.reason === "timeout";
    const problem = isLate
      ? ({ status: 504, code: "upstream_timeout" } as const)
      : ({ status: 502, code: "upstream_error" } as const);
    return upstreamErrorAnswer(problem, context, deps.random());
  }
}

export function isUpstream(found: UpstreamResponse | GatewayAnswer | Denial): found is UpstreamResponse {
  return !isDenial(found) && "bytes" in found;
}

/** A JSON object as the provider said it; undefined where it said something else. */
export async function jsonOf(upstream: UpstreamResponse): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(await upstream.bytes()));
    return isBody(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
