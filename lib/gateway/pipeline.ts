/**
 * One governed call, top to bottom: hold, forward, meter, settle; and again elsewhere where an attempt failed and may be
 * repeated. Whatever happens after a reservation stands, it ends exactly once (`ending`).
 */
import type { Clock } from "@/lib/domain/clock";
import { beginAttempt, endAttempt, nextAttempt } from "./attempts";
import type { Ending } from "./ending";
import { createEnding } from "./ending";
import type { Authenticated, Held } from "./exchange";
import type { Asked, HoldDeps, Refused } from "./hold";
import { authenticateAsked, hold, routingAgain } from "./hold";
import type { GatewayAnswer, GatewayRequest } from "./http";
import type { AnswerHeaders, UpstreamResponse } from "./ports";
import { StoreUnavailable, UpstreamFailure } from "./ports";
import { answerBody } from "./stages/answer-body";
import { answerRaw, isRaw } from "./stages/answer-raw";
import { answerStream } from "./stages/answer-stream";
import type { Replayed } from "./stages/claim";
import type { DeferredRun } from "./stages/defer";
import type { ForwardDeps } from "./stages/forward";
import { forward } from "./stages/forward";
import { endClaim } from "./stages/keep-answer";
import { isKept, noteAnswer, notingStream } from "./stages/kept-answers";
import type { AttemptFailure } from "./stages/upstream-error";
import { failureOfAnswer, failureOfTransport } from "./stages/upstream-error";
import { isCutShort } from "./stages/visible-output";
import { serveInBackground } from "./stored/background";
import type { Avoided } from "./targets";
import { NONE_AVOIDED } from "./targets";
import type { ErrorContext } from "./wire/error-response";
import { upstreamErrorAnswer } from "./wire/error-response";
import { NO_USAGE } from "./wire/openai-usage";
import { inShapeOf } from "./wire/routes/error-shapes";
import { isFormRequest } from "./wire/routes/route-request";

export interface PipelineDeps extends HoldDeps, ForwardDeps {
  readonly clock: Clock;
  readonly answerHeaders: AnswerHeaders;
  /** Waits between attempts. */
  readonly sleep: (ms: number) => Promise<void>;
}

export interface GatewayContext {
  /** Keeps the process alive until the promise settles; gets one for each reservation, before the answer is given. */
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly clientAddress?: string | undefined;
  /** Set by the worker only: the deferred call that this is. */
  readonly run?: DeferredRun | undefined;
}

type ErrorContextOf = (caller: Authenticated | undefined) => ErrorContext;

interface Client {
  readonly signal: AbortSignal;
  readonly isGone: () => boolean;
}

/** Aborts the upstream when the client of a stream leaves, where that is to break it off. */
function watchClient(request: GatewayRequest, held: () => Held): Client {
  const abort = new AbortController();
  let isGone = false;
  const leave = (): void => {
    isGone = true;
    if (isCutShort(held())) abort.abort();
  };
  // It may have left while we decided.
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave);
  return { signal: abort.signal, isGone: () => isGone };
}

function isFailure(result: GatewayAnswer | AttemptFailure): result is AttemptFailure {
  return "failure" in result;
}

async function answerOf(
  held: Held,
  upstream: UpstreamResponse,
  asked: Asked,
  ending: Ending,
  context: ErrorContext,
  deps: PipelineDeps,
): Promise<GatewayAnswer | AttemptFailure> {
  // A redirect is followed by nobody.
  if (upstream.status >= 300) return failureOfAnswer(held, upstream, context, deps.clock.nowMs());
  const type = upstream.headers["content-type"];
  const isEventStream = typeof type === "string" && type.includes("text/event-stream");
  if (held.request.isStream && isEventStream) {
    const askAgain = () => authenticateAsked(asked, deps.clock.nowMs(), deps);
    const stream = isKept(held) ? notingStream(held, upstream, deps) : upstream;
    return answerStream(held, stream, ending, context.protocol, askAgain, deps);
  }
  if (isRaw(held)) return answerRaw(held, upstream, ending, deps);
  const answer = await answerBody(held, upstream, ending, deps);
  if (answer && "errorBytes" in answer) {
    return failureOfAnswer(held, upstream, context, deps.clock.nowMs(), answer.errorBytes);
  }
  if (answer && isKept(held)) await noteAnswer(held, answer.body, deps);
  return answer ?? inShapeOf(context.protocol, upstreamErrorAnswer(UNREADABLE, context, 0));
}

/** Served and paid for, but in a way that the client's shape has no words for. */
const UNREADABLE = { status: 502, code: "upstream_error" } as const;

/** Sends a held call once. The reservation is ended or handed to the stream that will end it, unless the attempt failed. */
async function attempt(
  held: Held,
  asked: Asked,
  ending: Ending,
  client: Client | undefined,
  context: ErrorContext,
  deps: PipelineDeps,
): Promise<GatewayAnswer | AttemptFailure> {
  const ticket = beginAttempt(held, deps);
  try {
    const upstream = await forward(held, (name) => asked.request.headers.get(name), client?.signal, deps);
    const result = await answerOf(held, upstream, asked, ending, context, deps);
    endAttempt(held, ticket, isFailure(result) ? result.failure : "succeeded", deps);
    return result;
  } catch (error) {
    const failure = error instanceof UpstreamFailure ? error : new UpstreamFailure("unknown", "closed", error);
    const failed = failureOfTransport(failure, context);
    endAttempt(held, ticket, client?.signal.aborted ? "neutral" : failed.failure, deps);
    return failed;
  }
}

/** Ends a failed attempt after which no other follows. */
async function endFailed(held: Held, failed: AttemptFailure, ending: Ending, isBrokenOff: boolean): Promise<void> {
  const failure = failed.failure.kind;
  if (failed.due === "nothing") await ending.failed(failed);
  else if (failed.due === "unknown" && !isBrokenOff) await ending.unknown(failed.status, failure);
  else {
    // Refused after it was read, or broken off before the first byte: the prompt is what can have been billed.
    const usage = { ...NO_USAGE, inputTokens: held.request.inputGuess() };
    const outcome = isBrokenOff ? "aborted" : "upstream_error";
    const measured = { usage, isEstimated: true, outcome, statusCode: failed.status, firstByteMs: null } as const;
    await ending.settle({ ...measured, failure });
  }
}

export interface Exchange {
  readonly asked: Asked;
  readonly context: GatewayContext;
  readonly errorContext: ErrorContextOf;
  readonly deps: PipelineDeps;
}

/** The hold of the next attempt, in the same step in which the failed one is given back; undefined where none follows. */
async function holdNext(
  held: Held,
  failed: AttemptFailure,
  avoided: Avoided,
  ending: Ending,
  client: Client | undefined,
  { asked, deps }: Exchange,
): Promise<{ held: Held; avoided: Avoided } | undefined> {
  if (failed.due !== "nothing") return undefined;
  const next = nextAttempt(held, failed, avoided, routingAgain(asked, held, deps.clock.nowMs()), deps);
  if (!next) return undefined;
  if (next.delayMs > 0) await deps.sleep(next.delayMs);
  if (client?.isGone()) return undefined;
  try {
    const result = await hold(asked, deps, next.following);
    return "reservationId" in result ? { held: result, avoided: next.following.avoided } : undefined;
  } finally {
    // The script has ended it, or has not seen it: either way this process must stop renewing it.
    void ending.failed(failed);
  }
}

/** A deferred call is sent once, whatever dies. Throws StoreUnavailable, with the hold given back, where nobody could write that down. */
async function noteSending(run: DeferredRun | undefined, ending: Ending): Promise<void> {
  if (!run || (await run.beforeSend().catch(() => false))) return;
  await ending.void();
  throw new StoreUnavailable("that a deferred call is sent could not be written down");
}

async function serve(first: Held, exchange: Exchange): Promise<GatewayAnswer> {
  const { asked, context, errorContext, deps } = exchange;
  const errors = errorContext(first.caller);
  // A plain call, and one that a retry may ask for, is read to its end whatever the client does: nobody aborts it.
  const mayLeave = first.request.isStream && !asked.claim.current;
  let held = first;
  const client = mayLeave ? watchClient(asked.request, () => held) : undefined;
  let avoided = NONE_AVOIDED;
  for (;;) {
    const ending = createEnding(held, deps);
    context.waitUntil(ending.over);
    let isDone = false;
    try {
      await noteSending(asked.run, ending);
      const result = await attempt(held, asked, ending, client, errors, deps);
      if (!isFailure(result)) {
        isDone = true;
        asked.claim.outcome = ending.outcome;
        return result;
      }
      if (result.due === "nothing") asked.run?.unserved();
      const isGone = client?.isGone() === true;
      const next = isGone ? undefined : await holdNext(held, result, avoided, ending, client, exchange);
      if (!next) {
        if (!ending.isOver()) await endFailed(held, result, ending, client?.signal.aborted === true);
        isDone = true;
        return result.answer(deps.random());
      }
      isDone = true;
      ({ held, avoided } = next);
    } finally {
      // A bug of ours must not leave money held, nor give the call away.
      if (!isDone && !ending.isOver()) await ending.unknown(null);
    }
  }
}

function leaveInBackground(held: Held, { asked, context, errorContext, deps }: Exchange): Promise<GatewayAnswer> {
  const answer = serveInBackground(held, asked, errorContext(held.caller), deps);
  context.waitUntil(answer.catch(() => undefined));
  return answer;
}

async function holdAndServe(exchange: Exchange): Promise<GatewayAnswer | Refused | Replayed> {
  const { asked, errorContext, deps } = exchange;
  const result = await hold(asked, deps);
  if ("refusal" in result || "replayed" in result) return result;
  if ("deferred" in result) return result.deferred;
  if (!("restingMs" in result)) {
    return result.request.extras.isBackground ? leaveInBackground(result, exchange) : serve(result, exchange);
  }
  const errors = errorContext(result.caller);
  const problem = { status: 503, code: "upstream_error", retryAfterMs: result.restingMs } as const;
  return inShapeOf(errors.protocol, upstreamErrorAnswer(problem, errors, deps.random()));
}

/** Serves one governed call, or says why it was refused. Throws StoreUnavailable where nothing could be decided. */
export async function governedCall(exchange: Exchange): Promise<GatewayAnswer | Refused | Replayed> {
  const { asked, context, deps } = exchange;
  try {
    const result = await holdAndServe(exchange);
    if (!asked.claim.current || "refusal" in result || "replayed" in result) return result;
    return await endClaim(asked.claim, result, deps, context.waitUntil);
  } finally {
    // What was not served may be asked for again under the same name.
    if (asked.claim.current) await deps.claims?.release(asked.claim.current.claim);
    const { current } = asked.body;
    if (current && isFormRequest(current)) await current.form.discard();
  }
}
