/**
 * The gateway as a function of Request. Hosts (the Next route handler, the lean Node host, a test) only translate.
 * Every answer has a request id; nothing a caller sends makes a bare 500.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { newId } from "@/lib/domain/ids";
import { usageRatio } from "@/lib/domain/lines";
import type { RefusalEvent } from "@/lib/domain/usage-event";
import type { Authenticated, Classified, Received } from "./exchange";
import type { GatewayAnswer, GatewayRequest } from "./http";
import { fromWebRequest, jsonAnswer, toWebResponse } from "./http";
import type { Asked, Refused } from "./hold";
import type { GatewayContext, PipelineDeps } from "./pipeline";
import { governedCall } from "./pipeline";
import { StoreUnavailable } from "./ports";
import type { MeDeps } from "./routes/me";
import { meBody, usageBody } from "./routes/me";
import { answerDeferred, isDeferredPath } from "./routes/deferred";
import { modelsBody } from "./routes/models";
import { sessionNote } from "./session-call";
import { serveStored } from "./stored/serve-stored";
import { storedPath } from "./stored/stored-path";
import { authenticate } from "./stages/authenticate";
import type { Replayed } from "./stages/claim";
import { replayEvent } from "./stages/claim";
import type { ErrorContext, Refusal } from "./wire/error-response";
import { refusalAnswer, upstreamErrorAnswer } from "./wire/error-response";
import { languageOf } from "./wire/messages";
import { inShapeOf, refusalInShapeOf } from "./wire/routes/error-shapes";
import type { GovernedRoute } from "./wire/routes/governed-routes";
import { governedRoute, passthroughRoute, protocolOf } from "./wire/routes/governed-routes";
import type { Protocol } from "./wire/routes/route-request";
import { fixedAnswer } from "./wire/fixed-answer";

export interface GatewayDeps extends PipelineDeps {
  /** Told of bugs: an error that no branch foresaw. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

/** For hosts that translate by themselves. */
export type GatewayCore = (request: GatewayRequest, context: GatewayContext) => Promise<GatewayAnswer>;
export type GatewayHandler = (request: Request, context: GatewayContext) => Promise<Response>;

interface GatewayPath {
  /** Behind the base path, without slashes at its end. */
  readonly path: string;
  readonly query: string;
  readonly isGeminiBase: boolean;
}

const BASES: readonly (readonly [base: string, isGemini: boolean])[] = [
  ["/api/v1/", false],
  ["/v1/", false],
  ["/v1beta/", true],
  ["/api/v1beta/", true],
];

function pathOf(url: string): GatewayPath | undefined {
  const target = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("//") + 2));
  for (const [base, isGeminiBase] of BASES) {
    if (!target.startsWith(base)) continue;
    const end = target.search(/[?#]/u);
    const path = target.slice(base.length, end < 0 ? undefined : end).replace(/\/+$/u, "");
    const query = end >= 0 && target[end] === "?" ? target.slice(end + 1) : "";
    return { path, query, isGeminiBase };
  }
  return undefined;
}

/** The route behind `/api/v1/`, `/v1/` or Google's `/v1beta/`, without query; undefined for other paths. */
export function routeOf(url: string): string | undefined {
  return pathOf(url)?.path;
}

/** What is known of a request by its line and headers. */
interface Arrived {
  readonly received: Received;
  readonly protocol: Protocol;
  readonly governed: GovernedRoute | undefined;
  readonly headers: GatewayRequest["headers"];
}

function errorContext({ received, protocol }: Arrived, caller: Authenticated | undefined): ErrorContext {
  const organisation = caller?.view.organisation;
  const language = received.language === "en" && organisation?.locale === "zh-CN" ? "zh-CN" : received.language;
  return {
    protocol,
    requestId: received.requestId,
    language,
    budgetStatus: organisation?.budgetRefusalStatus ?? 429,
    topUpUrl: organisation?.topUpUrl ?? null,
  };
}

/** The AI SDK asks again after every 429, whatever its headers say (ai 6: `APICallError.isRetryable` goes by the status). */
const ASKS_AGAIN = /\bai-sdk\//u;

/** Money is 402 to a client that would ask again: for the caller's budget no later second is better than this one. */
function refusalContext(arrived: Arrived, caller: Authenticated | undefined): ErrorContext {
  const context = errorContext(arrived, caller);
  return ASKS_AGAIN.test(arrived.headers.get("user-agent") ?? "") ? { ...context, budgetStatus: 402 } : context;
}

function refusalEvent(
  received: Received,
  refused: Refused,
  caller: Authenticated,
  { status, code }: Pick<Refusal, "status" | "code">,
  nowMs: number,
): RefusalEvent {
  const { refusal, request } = refused;
  return {
    organisationId: caller.view.organisation.id,
    requestId: received.requestId,
    refusedAtMs: nowMs,
    apiKeyId: caller.key.keyId,
    appId: caller.chain.appId,
    consumerPath: [...caller.chain.consumerPath],
    environment: caller.key.environment,
    trafficClass: "trafficClass" in caller ? String(caller.trafficClass) : caller.key.trafficClass,
    route: received.route,
    modelRequested: request?.model ?? null,
    statusCode: status,
    code,
    budgetId: refusal.budget?.budgetId ?? null,
    explanation: noteOf(refusal, caller),
  };
}

/** Why, and the session that the call named, where it came so far. */
function noteOf(refusal: Denial, caller: Authenticated | Classified): Record<string, unknown> | null {
  const session = "session" in caller ? sessionNote(caller) : {};
  const why = explain(refusal);
  return why === null && !("session" in session) ? null : { ...why, ...session };
}

function explain(refusal: Denial): Record<string, unknown> | null {
  const { budget, spentTargets } = refusal;
  if (spentTargets) return { spentTargets };
  if (!budget) return refusal.detail === undefined ? null : { detail: refusal.detail };
  return {
    budgetId: budget.budgetId,
    periodId: budget.periodId,
    limit: String(budget.limit),
    settled: String(budget.used),
    held: String(budget.held),
    rungBasisPoints: refusal.rungBasisPoints ?? null,
    rungName: refusal.rungName ?? null,
    ratioBasisPoints: usageRatio(budget.used + budget.held, budget.limit),
  };
}

/** The gateway for hosts that speak Web. */
export function createGateway(core: GatewayCore): GatewayHandler {
  return async (request, context) => toWebResponse(await core(fromWebRequest(request), context));
}

export function createGatewayCore(deps: GatewayDeps): GatewayCore {
  const answerRefusal = (arrived: Arrived, refused: Refused): GatewayAnswer => {
    const context = refusalContext(arrived, refused.caller);
    const fixed = refused.isStatic ? fixedAnswer(refused, arrived.received, context) : undefined;
    const answer = fixed ?? refusalInShapeOf(arrived.protocol, refusalAnswer(refused.refusal, context, deps.random()));
    // Callers who are not known are not noted: anybody could fill the list.
    if (refused.caller) {
      const { received } = arrived;
      deps.ledger.refused(refusalEvent(received, refused, refused.caller, answer, deps.clock.nowMs()));
    }
    return answer.answer;
  };

  const refuse = (arrived: Arrived, refusal: Denial): GatewayAnswer =>
    answerRefusal(arrived, { refusal, caller: undefined, request: undefined });

  const read = async (request: GatewayRequest, arrived: Arrived, context: GatewayContext): Promise<GatewayAnswer> => {
    const { received } = arrived;
    const nowMs = deps.clock.nowMs();
    const caller = await authenticate(received, request.headers, context.clientAddress, nowMs, deps);
    if (isDenial(caller)) return refuse(arrived, caller);
    const answer = await answerRead(arrived, request.method, caller, deps, nowMs);
    return isDenial(answer) ? refuse(arrived, answer) : answer;
  };

  const answerResult = (arrived: Arrived, result: GatewayAnswer | Refused | Replayed): GatewayAnswer => {
    if ("refusal" in result) return answerRefusal(arrived, result);
    if (!("replayed" in result)) return result;
    deps.ledger.refused(replayEvent(result, deps.clock.nowMs()));
    return result.replayed;
  };

  const dispatch = async (
    request: GatewayRequest,
    arrived: Arrived,
    context: GatewayContext,
  ): Promise<GatewayAnswer> => {
    const { received, governed } = arrived;
    if (asksToRead(arrived, request.method)) return read(request, arrived, context);
    const errors = (caller: Authenticated | undefined): ErrorContext => errorContext(arrived, caller);
    // What Anthropic keeps is in no register.
    const path = governed || arrived.protocol === "anthropic" ? undefined : storedPath(received.path, request.method);
    if (path) {
      const stored = { request, received, path, clientAddress: context.clientAddress, errorContext: errors };
      return answerResult(arrived, await serveStored(stored, deps));
    }
    const refusal = refusedAtOnce(arrived, request.method);
    if (refusal) return refuse(arrived, refusal);
    const asked = askedOf(request, arrived, context);
    return answerResult(arrived, await governedCall({ asked, context, errorContext: errors, deps }));
  };

  /** The last resort: a store that is away, or a bug of ours. */
  const answerFailure = (error: unknown, arrived: Arrived): GatewayAnswer => {
    if (error instanceof StoreUnavailable) {
      return refuse(arrived, denial("quota_store_unavailable", { retryAfterMs: error.retryAfterMs }));
    }
    deps.onFault(error, arrived.received.requestId);
    const problem = { status: 503, code: "upstream_error", retryAfterMs: 1000 } as const;
    const answer = upstreamErrorAnswer(problem, errorContext(arrived, undefined), deps.random());
    return inShapeOf(arrived.protocol, answer);
  };

  return (request, context) => {
    const arrived = arrive(request, deps.clock.nowMs());
    return dispatch(request, arrived, context).catch((error: unknown) => answerFailure(error, arrived));
  };
}

function asksToRead({ received: { path }, governed }: Arrived, method: string): boolean {
  return !governed && isRead(path) && (method === "GET" || isDeferredPath(path));
}

/** What nobody may ask for, whoever it is. */
function refusedAtOnce({ received, governed }: Arrived, method: string): Denial | undefined {
  if (!governed && isRead(received.path)) return denial("method_not_allowed");
  if (!governed && isUnserved(received.path)) {
    return denial("not_found", { detail: "uploads in parts, message batches and Anthropic's files are not served" });
  }
  if (method === "POST") return undefined;
  return denial(governed ? "method_not_allowed" : "not_found");
}

function askedOf(request: GatewayRequest, { received, governed }: Arrived, context: GatewayContext): Asked {
  return {
    request,
    received,
    route: governed ?? passthroughRoute(received.path),
    clientAddress: context.clientAddress,
    body: { current: undefined },
    claim: { current: undefined, outcome: () => undefined },
    run: context.run,
  };
}

async function answerRead(
  arrived: Arrived,
  method: string,
  caller: Authenticated,
  deps: GatewayDeps,
  nowMs: number,
): Promise<Denial | GatewayAnswer> {
  const { requestId, path } = arrived.received;
  if (isDeferredPath(path)) return answerDeferred(method, caller, deps.deferrals);
  const body = await readBody(arrived, caller, deps, nowMs);
  return isDenial(body) ? body : jsonAnswer(200, body, { "x-request-id": requestId });
}

async function readBody(
  { received, protocol }: Arrived,
  caller: Authenticated,
  deps: MeDeps,
  nowMs: number,
): Promise<Denial | object> {
  const { path } = received;
  if (path === "me") return meBody(caller, deps, nowMs);
  if (path === "me/usage") return usageBody(caller, deps, nowMs);
  const name = path === "models" ? undefined : decodeURIComponentSafely(path.slice("models/".length));
  return modelsBody(caller, name, protocol);
}

/** What is read without a model: about oneself, and the list of models. */
function isRead(path: string): boolean {
  return (
    path === "me" ||
    path === "me/usage" ||
    path === "models" ||
    isDeferredPath(path) ||
    (path.startsWith("models/") && !path.includes(":"))
  );
}

/** What outlives a call and is in no register is not served, also where somebody gives such a path a price. */
function isUnserved(path: string): boolean {
  return /^(files|uploads|batches|messages\/batches)(\/|$)/u.test(path);
}

/** Of a path without a governed route, in lists of refusals. */
function routeName(path: string, method: string): string {
  if (isRead(path)) return path;
  return storedPath(path, method) ? path.replace(/\/.*$/u, "") : "passthrough";
}

function arrive(request: GatewayRequest, startedMs: number): Arrived {
  const { path, query, isGeminiBase } = pathOf(request.url) ?? { path: "", query: "", isGeminiBase: false };
  const governed = governedRoute(path, query);
  const protocol = governed?.protocol ?? protocolOf(path, isGeminiBase, request.headers.get("anthropic-version"));
  return {
    governed,
    protocol,
    headers: request.headers,
    received: {
      requestId: newId("req", startedMs),
      startedMs,
      route: governed?.route ?? routeName(path, request.method),
      path,
      language: languageOf(request.headers.get("accept-language")),
    },
  };
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
