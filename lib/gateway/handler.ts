/**
 * The gateway as a function of Request. Hosts (the Next route handler, the lean Node host, a test) only translate.
 * Every answer has a request id; nothing a caller sends makes a bare 500.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { newId } from "@/lib/domain/ids";
import { usageRatio } from "@/lib/domain/lines";
import type { RefusalEvent } from "@/lib/domain/usage-event";
import type { Authenticated, Received } from "./exchange";
import type { GatewayAnswer, GatewayRequest } from "./http";
import { fromWebRequest, jsonAnswer, toWebResponse } from "./http";
import type { GatewayContext, GovernedRoute, PipelineDeps, Refused } from "./pipeline";
import { governedCall } from "./pipeline";
import { StoreUnavailable } from "./ports";
import { meBody, usageBody } from "./routes/me";
import { modelsBody } from "./routes/models";
import { authenticate } from "./stages/authenticate";
import type { ErrorContext } from "./wire/error-response";
import { refusalAnswer, upstreamErrorAnswer } from "./wire/error-response";
import { languageOf } from "./wire/messages";

export interface GatewayDeps extends PipelineDeps {
  /** Told of bugs: an error that no branch foresaw. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

/** For hosts that translate by themselves. */
export type GatewayCore = (request: GatewayRequest, context: GatewayContext) => Promise<GatewayAnswer>;
export type GatewayHandler = (request: Request, context: GatewayContext) => Promise<Response>;

const GOVERNED: Readonly<Record<string, GovernedRoute>> = {
  "chat/completions": { route: "chat/completions", kind: "chat" },
  embeddings: { route: "embeddings", kind: "embedding" },
};

/** The route behind `/api/v1/` or `/v1/`, without query; undefined for other paths. */
export function routeOf(url: string): string | undefined {
  const path = url.startsWith("/") ? url : url.slice(url.indexOf("/", url.indexOf("//") + 2));
  const rest = path.startsWith("/api/v1/") ? path.slice(8) : path.startsWith("/v1/") ? path.slice(4) : undefined;
  return rest?.split(/[?#]/u, 1)[0]?.replace(/\/+$/u, "");
}

function errorContext(received: Received, caller: Authenticated | undefined): ErrorContext {
  const organisation = caller?.view.organisation;
  const language = received.language === "en" && organisation?.locale === "zh-CN" ? "zh-CN" : received.language;
  return {
    requestId: received.requestId,
    language,
    budgetStatus: organisation?.budgetRefusalStatus ?? 429,
    topUpUrl: organisation?.topUpUrl ?? null,
  };
}

function refusalEvent(
  received: Received,
  refused: Refused,
  caller: Authenticated,
  status: number,
  code: string,
  nowMs: number,
): RefusalEvent {
  const { refusal, request } = refused;
  return {
    organisationId: caller.view.organisation.id,
    requestId: received.requestId,
    refusedAtMs: nowMs,
    apiKeyId: caller.key.keyId,
    appId: caller.key.appId,
    consumerPath: [...caller.chain.consumerPath],
    environment: caller.key.environment,
    trafficClass: "trafficClass" in caller ? String(caller.trafficClass) : caller.key.trafficClass,
    route: received.route,
    modelRequested: request?.model ?? null,
    statusCode: status,
    code,
    budgetId: refusal.budget?.budgetId ?? null,
    explanation: explain(refusal),
  };
}

function explain(refusal: Denial): Record<string, unknown> | null {
  const { budget } = refusal;
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
  const answerRefusal = (received: Received, refused: Refused): GatewayAnswer => {
    const context = errorContext(received, refused.caller);
    const answer = refusalAnswer(refused.refusal, context, deps.random());
    // Callers who are not known are not noted: anybody could fill the list.
    if (refused.caller) {
      deps.ledger.refused(
        refusalEvent(received, refused, refused.caller, answer.status, answer.code, deps.clock.nowMs()),
      );
    }
    return answer.answer;
  };

  const read = async (request: GatewayRequest, received: Received, context: GatewayContext): Promise<GatewayAnswer> => {
    const nowMs = deps.clock.nowMs();
    const caller = await authenticate(received, request.headers, context.clientAddress, nowMs, deps);
    if (isDenial(caller)) return answerRefusal(received, { refusal: caller, caller: undefined, request: undefined });
    const body = await bodyOf(received.route, caller, nowMs);
    if (isDenial(body)) return answerRefusal(received, { refusal: body, caller: undefined, request: undefined });
    return jsonAnswer(200, body, { "x-request-id": received.requestId });
  };

  const bodyOf = async (route: string, caller: Authenticated, nowMs: number): Promise<Denial | object> => {
    if (route === "me") return meBody(caller, deps.ledger, nowMs);
    if (route === "me/usage") return usageBody(caller, deps.ledger, nowMs);
    return modelsBody(caller, route === "models" ? undefined : decodeURIComponentSafely(route.slice("models/".length)));
  };

  const dispatch = async (
    request: GatewayRequest,
    received: Received,
    context: GatewayContext,
  ): Promise<GatewayAnswer> => {
    const refuse = (refusal: Denial) => answerRefusal(received, { refusal, caller: undefined, request: undefined });
    const governed = GOVERNED[received.route];
    const isRead = ["me", "me/usage", "models"].includes(received.route) || received.route.startsWith("models/");
    if (!governed && !isRead) return refuse(denial("not_found"));
    if (request.method !== (governed ? "POST" : "GET")) return refuse(denial("method_not_allowed"));
    if (!governed) return read(request, received, context);
    const result = await governedCall(request, received, governed, context, deps, (caller) =>
      errorContext(received, caller),
    );
    return "refusal" in result ? answerRefusal(received, result) : result;
  };

  /** The last resort: a store that is away, or a bug of ours. */
  const answerFailure = (error: unknown, received: Received): GatewayAnswer => {
    if (error instanceof StoreUnavailable) {
      const refusal = denial("quota_store_unavailable", { retryAfterMs: error.retryAfterMs });
      return answerRefusal(received, { refusal, caller: undefined, request: undefined });
    }
    deps.onFault(error, received.requestId);
    const problem = { status: 503, code: "upstream_error", retryAfterMs: 1000 } as const;
    return upstreamErrorAnswer(problem, errorContext(received, undefined), deps.random());
  };

  return (request, context) => {
    const received = receive(request, deps.clock.nowMs());
    return dispatch(request, received, context).catch((error: unknown) => answerFailure(error, received));
  };
}

function receive(request: GatewayRequest, startedMs: number): Received {
  return {
    requestId: newId("req", startedMs),
    startedMs,
    route: routeOf(request.url) ?? "",
    language: languageOf(request.headers.get("accept-language")),
  };
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
