/**
 * One governed call, top to bottom, with all its branches: authenticate, classify, decide, estimate, reserve, forward,
 * meter, settle. Whatever happens after the reservation stands, it ends exactly once (`ending`).
 */
import type { Clock } from "@/lib/domain/clock";
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { MoneyError } from "@/lib/domain/money";
import { compiledCall } from "./compiled-call";
import type { Ending } from "./ending";
import { createEnding } from "./ending";
import type { Authenticated, Classified, Held, Received } from "./exchange";
import type { GatewayAnswer, GatewayRequest } from "./http";
import type { BudgetLedger, PolicySource, ProviderClient, RequestTagger, UpstreamResponse } from "./ports";
import { UpstreamFailure } from "./ports";
import { answerBody } from "./stages/answer-body";
import { answerStream } from "./stages/answer-stream";
import type { AuthenticateDeps } from "./stages/authenticate";
import { authenticate, classify } from "./stages/authenticate";
import { forward } from "./stages/forward";
import type { ReserveAgain } from "./stages/reserve";
import { reserve } from "./stages/reserve";
import { answerUpstreamError } from "./stages/upstream-error";
import type { ErrorContext } from "./wire/error-response";
import { upstreamErrorAnswer } from "./wire/error-response";
import type { ParsedRequest } from "./wire/openai-request";
import { parseOpenAiRequest } from "./wire/openai-request";
import { NO_USAGE } from "./wire/openai-usage";

export interface PipelineDeps extends AuthenticateDeps {
  readonly policies: PolicySource;
  readonly ledger: BudgetLedger;
  readonly providers: ProviderClient;
  readonly tagger: RequestTagger;
  readonly clock: Clock;
  /** In [0, 1): spreads retries. */
  readonly random: () => number;
  readonly maxBodyBytes: number;
}

export interface GatewayContext {
  /** Keeps the process alive until the promise settles; gets one promise for the whole exchange. */
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly clientAddress?: string | undefined;
}

export interface GovernedRoute {
  readonly route: string;
  readonly kind: "chat" | "embedding";
}

/** A refusal with what is known of the caller by then. */
export interface Refused {
  readonly refusal: Denial;
  readonly caller: Authenticated | undefined;
  readonly request: ParsedRequest | undefined;
}

/** Snapshot behind, period over, or both, each a few times in a row under constant change. */
const MAX_ROUNDS = 6;

function isAgain(value: Held | Denial | ReserveAgain): value is ReserveAgain {
  return "again" in value;
}

/** From key to hold. Throws StoreUnavailable. */
async function hold(
  request: GatewayRequest,
  received: Received,
  route: GovernedRoute,
  context: GatewayContext,
  deps: PipelineDeps,
): Promise<Held | Refused> {
  let nowMs = deps.clock.nowMs();
  let parsed: ParsedRequest | undefined;
  let caller: Classified | undefined;
  const refuse = (refusal: Denial): Refused => ({ refusal, caller, request: parsed });
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const authenticated = await authenticate(received, request.headers, context.clientAddress, nowMs, deps);
    if (isDenial(authenticated)) return refuse(authenticated);
    caller = classify(authenticated, request.headers);
    if (!parsed) {
      const body = await request.bytes(deps.maxBodyBytes);
      if (body === "too_large") {
        return refuse(denial("request_too_large", { detail: `at most ${String(deps.maxBodyBytes)} bytes` }));
      }
      const result = parseOpenAiRequest(body, route.kind);
      if (isDenial(result)) return refuse(result);
      parsed = result;
    }
    const shape = { model: parsed.model, kind: route.kind, trafficClass: caller.trafficClass, route: route.route };
    const call = compiledCall(caller.view, caller.chain, shape, nowMs);
    if (isDenial(call)) return refuse(call);
    const result = await reserveSafely(caller, parsed, call, deps);
    if (isDenial(result)) return refuse(result);
    if (!isAgain(result)) return result;
    if (result.again === "clock") nowMs = result.nowMs;
    else await deps.policies.catchUp(caller.view.organisation.id);
  }
  return refuse(denial("quota_store_unavailable", { retryAfterMs: 1000 }));
}

async function reserveSafely(
  caller: Classified,
  request: ParsedRequest,
  call: Parameters<typeof reserve>[2],
  deps: PipelineDeps,
): Promise<Held | Denial | ReserveAgain> {
  try {
    return await reserve(caller, request, call, 0, deps.ledger);
  } catch (error) {
    if (error instanceof MoneyError)
      return denial("invalid_request", { detail: "this call could cost more than the ledger can hold" });
    throw error;
  }
}

/** Aborts the upstream when the client of a stream leaves, where the policy says cut. */
function watchClient(request: GatewayRequest, held: Held): { signal: AbortSignal; isGone: () => boolean } {
  const abort = new AbortController();
  let isGone = false;
  const leave = (): void => {
    isGone = true;
    if (held.caller.chain.policy.clientGone === "cut") abort.abort();
  };
  // It may have left while we decided.
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave);
  return { signal: abort.signal, isGone: () => isGone };
}

/** Sends a held call and answers. Every path ends the reservation or hands it to the stream that will. */
async function serve(
  held: Held,
  request: GatewayRequest,
  ending: Ending,
  context: ErrorContext,
  deps: PipelineDeps,
): Promise<GatewayAnswer> {
  // A plain call is read to its end whatever the client does: nobody aborts it.
  const client = held.request.isStream ? watchClient(request, held) : undefined;
  try {
    const upstream = await forward(held, client?.signal, deps);
    return await answer(held, upstream, ending, context, deps);
  } catch (error) {
    const failure = error instanceof UpstreamFailure ? error : new UpstreamFailure("unknown", "closed", error);
    if (failure.reach === "unserved") await ending.void();
    else if (client?.isGone()) await endUnheard(held, ending);
    else await ending.unknown(null);
    const isTimeout = failure.reason === "timeout";
    return upstreamErrorAnswer(
      isTimeout ? { status: 504, code: "upstream_timeout" } : { status: 502, code: "upstream_error" },
      context,
      deps.random(),
    );
  }
}

/** The client left a stream before its first byte: nothing was delivered, so the prompt is what can have been billed. */
async function endUnheard(held: Held, ending: Ending): Promise<void> {
  const usage = { ...NO_USAGE, inputTokens: held.request.inputGuess() };
  await ending.settle({ usage, isEstimated: true, outcome: "aborted", statusCode: null, firstByteMs: null });
}

async function answer(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  context: ErrorContext,
  deps: PipelineDeps,
): Promise<GatewayAnswer> {
  if (upstream.status >= 400) return answerUpstreamError(upstream, ending, context, deps.random());
  const type = upstream.headers["content-type"];
  const isEventStream = typeof type === "string" && type.includes("text/event-stream");
  if (held.request.isStream && isEventStream) return answerStream(held, upstream, ending, deps);
  return answerBody(held, upstream, ending, () => deps.clock.nowMs());
}

/** Serves one governed call, or says why it was refused. Throws StoreUnavailable where nothing could be decided. */
export async function governedCall(
  request: GatewayRequest,
  received: Received,
  route: GovernedRoute,
  context: GatewayContext,
  deps: PipelineDeps,
  errorContext: (caller: Authenticated | undefined) => ErrorContext,
): Promise<GatewayAnswer | Refused> {
  const held = await hold(request, received, route, context, deps);
  if ("refusal" in held) return held;
  const ending = createEnding(held, deps);
  context.waitUntil(ending.over);
  let isAnswered = false;
  try {
    const response = await serve(held, request, ending, errorContext(held.caller), deps);
    isAnswered = true;
    return response;
  } finally {
    // A bug of ours must not leave money held, nor give the call away.
    if (!isAnswered && !ending.isOver()) await ending.unknown(null);
  }
}
