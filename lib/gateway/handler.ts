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
import type { GatewayContext, GovernedRoute, PipelineDeps, Refused } from "./pipeline";
import { governedCall } from "./pipeline";
import { StoreUnavailable } from "./ports";
import { meBody, usageBody } from "./routes/me";
import { modelsBody } from "./routes/models";
import { authenticate } from "./stages/authenticate";
import type { ErrorContext } from "./wire/error-response";
import { json, refusalResponse, upstreamErrorResponse } from "./wire/error-response";
import { languageOf } from "./wire/messages";

export interface GatewayDeps extends PipelineDeps {
  /** Told of bugs: an error that no branch foresaw. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

export type GatewayHandler = (request: Request, context: GatewayContext) => Promise<Response>;

const GOVERNED: Readonly<Record<string, GovernedRoute>> = {
  "chat/completions": { route: "chat/completions", kind: "chat" },
  embeddings: { route: "embeddings", kind: "embedding" },
};

/** The route behind `/api/v1/` or `/v1/`, without query; undefined for other paths. */
export function routeOf(url: string): string | undefined {
  const path = url.slice(url.indexOf("/", url.indexOf("//") + 2));
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

export function createGateway(deps: GatewayDeps): GatewayHandler {
  const answerRefusal = (received: Received, refused: Refused): Response => {
    const context = errorContext(received, refused.caller);
    const answer = refusalResponse(refused.refusal, context, deps.random());
    // Callers who are not known are not noted: anybody could fill the list.
    if (refused.caller) {
      deps.ledger.refused(
        refusalEvent(received, refused, refused.caller, answer.status, answer.code, deps.clock.nowMs()),
      );
    }
    return answer.response;
  };

  const read = async (request: Request, received: Received, context: GatewayContext): Promise<Response> => {
    const nowMs = deps.clock.nowMs();
    const caller = await authenticate(received, request.headers, context.clientAddress, nowMs, deps);
    if (isDenial(caller)) return answerRefusal(received, { refusal: caller, caller: undefined, request: undefined });
    const body = await bodyOf(received.route, caller, nowMs);
    if (isDenial(body)) return answerRefusal(received, { refusal: body, caller: undefined, request: undefined });
    return json(200, body, { "x-request-id": received.requestId });
  };

  const bodyOf = async (route: string, caller: Authenticated, nowMs: number): Promise<Denial | object> => {
    if (route === "me") return meBody(caller, deps.ledger, nowMs);
    if (route === "me/usage") return usageBody(caller, deps.ledger, nowMs);
    return modelsBody(caller, route === "models" ? undefined : decodeURIComponentSafely(route.slice("models/".length)));
  };

  const dispatch = async (request: Request, received: Received, context: GatewayContext): Promise<Response> => {
    const refuse = (refusal: Denial) => answerRefusal(received, { refusal, caller: undefined, request: undefined });
    const governed = GOVERNED[received.route];
    const isRead = ["me", "me/usage", "models"].includes(received.route) || received.route.startsWith("models/");
    if (!governed && !isRead) return refuse(denial("not_found"));
    if (request.method !== (governed ? "POST" : "GET")) return refuse(denial("method_not_allowed"));
    if (!governed) return read(request, received, context);
    const result = await governedCall(request, received, governed, context, deps, (caller) =>
      errorContext(received, caller),
    );
    return result instanceof Response ? result : answerRefusal(received, result);
  };

  return async (request, context) => {
    const startedMs = deps.clock.nowMs();
    const received: Received = {
      requestId: newId("req", startedMs),
      startedMs,
      route: routeOf(request.url) ?? "",
      language: languageOf(request.headers.get("accept-language")),
    };
    try {
      return await dispatch(request, received, context);
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        const refusal = denial("quota_store_unavailable", { retryAfterMs: error.retryAfterMs });
        return answerRefusal(received, { refusal, caller: undefined, request: undefined });
      }
      deps.onFault(error, received.requestId);
      return upstreamErrorResponse(
        { status: 503, code: "upstream_error", retryAfterMs: 1000 },
        errorContext(received, undefined),
        deps.random(),
      );
    }
  };
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
