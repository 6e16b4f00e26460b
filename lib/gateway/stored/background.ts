/**
 * A response in the background (OpenAI guide: background mode): held as any call, asked for once, and left to the worker, which
 * follows it to its end and settles it. The worker is told before the provider is asked, as of batches, so that whatever dies in
 * between, what runs is paid for.
 */
import { objectOfResponse, withoutTexts } from "@/lib/domain/background-response";
import type { ResponseFacts } from "@/lib/domain/provider-job";
import { isObjectId } from "@/lib/domain/stored-object";
import { beginAttempt, endAttempt } from "../attempts";
import { createEnding } from "../ending";
import type { Held } from "../exchange";
import type { Asked, HoldDeps } from "../hold";
import type { GatewayAnswer } from "../http";
import type { AnswerHeaders, ObjectRegister, UpstreamResponse } from "../ports";
import { UpstreamFailure } from "../ports";
import type { ForwardDeps } from "../stages/forward";
import { forward } from "../stages/forward";
import { idsAlong, noteAnswer, noteIds } from "../stages/kept-answers";
import { explanationOf, openOf } from "../stages/settle";
import { usageHints } from "../stages/units";
import type { AttemptFailure } from "../stages/upstream-error";
import { failureOfAnswer, failureOfTransport } from "../stages/upstream-error";
import type { ErrorContext } from "../wire/error-response";
import { NO_USAGE } from "../wire/openai-usage";
import { servedHeaders } from "../wire/response-headers";
import { isBody } from "../wire/routes/fields";
import { GatedStream } from "./gated-stream";

export interface BackgroundDeps extends HoldDeps, ForwardDeps {
  readonly answerHeaders: AnswerHeaders;
}

interface Background extends BackgroundDeps {
  readonly register: ObjectRegister;
}

/** How much later than it should the provider's answer may come before the worker gives it up. */
const ANSWER_GRACE_MS = 60_000;

function factsOf(held: Held, nowMs: number): ResponseFacts {
  const { caller, serving, request } = held;
  const { deployment, provider, adapter, region } = serving.target;
  const asked = held.call.servings[0];
  const { appId, environment, keyId: apiKeyId } = caller.key;
  return {
    ...{ kind: "response", reservationId: held.reservationId, organisationId: caller.view.organisation.id },
    ...{ appId, environment, apiKeyId, providerId: provider.id, deploymentId: deployment.id, model: request.model },
    ...{ vendor: adapter.vendor, rates: serving.price.rates, decision: serving.plan.decision },
    ...{ inputGuess: request.inputGuess(), askedUse: { ...usageHints(request, adapter.vendor, region).asked } },
    asked: asked && asked.model !== serving.model ? { rates: asked.price.rates, fxRate: asked.fxRate } : null,
    ...{ createdMs: nowMs, answerByMs: nowMs + deployment.timeoutMs + ANSWER_GRACE_MS },
    explanation: JSON.parse(explanationOf(held)) as Record<string, unknown>,
  };
}

/** The worker keeps the hold from now on, and the call gives its place of a concurrency limit back: it runs at the provider. */
async function handOver(held: Held, { ledger }: Background): Promise<void> {
  const places = held.call.rateLimits.filter(({ concurrency }) => concurrency !== null);
  await ledger.handOver(
    openOf(held),
    places.map(({ id }) => id),
  );
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** The worker follows it, and it is its owner's, before anybody hears of it. */
async function noteMade(
  facts: ResponseFacts,
  response: Readonly<Record<string, unknown>>,
  { register }: Background,
): Promise<void> {
  const said = withoutTexts(response);
  await register.move({ to: "running", facts, said }, [objectOfResponse(facts, facts.model, said)]);
}

/** The answer of a provider that took the call on; undefined where it is not one. */
async function wholeAnswer(
  held: Held,
  facts: ResponseFacts,
  upstream: UpstreamResponse,
  deps: Background,
): Promise<GatewayAnswer | undefined> {
  const bytes = await upstream.bytes();
  const response = parsed(bytes);
  if (!isBody(response) || typeof response.id !== "string" || !isObjectId(response.id)) return undefined;
  await noteMade(facts, response, deps);
  await noteAnswer(held, bytes, deps);
  await handOver(held, deps);
  const headers = { ...servedHeaders(held, deps.clock.nowMs()), ...deps.answerHeaders(upstream.headers) };
  headers["content-type"] ??= "application/json";
  return { status: upstream.status, headers, body: bytes };
}

/** Events as they come. What the stream brings of a use is not needed: the worker asks, whoever listens. */
async function streamedAnswer(
  held: Held,
  facts: ResponseFacts,
  upstream: UpstreamResponse,
  deps: Background,
): Promise<GatewayAnswer> {
  await handOver(held, deps);
  let isNamed = false;
  const events = idsAlong(upstream.body, (ids) => {
    const noted = noteIds(held, ids, deps);
    const [id] = ids;
    // The first one is that of the response itself.
    if (isNamed || id === undefined || !isObjectId(id)) return;
    isNamed = true;
    // Not noted, the worker books it as a call whose end nobody saw.
    body.openAfter(Promise.all([noted, noteMade(facts, { id, object: "response", status: "queued" }, deps)]));
  });
  const body = new GatedStream(events);
  const headers = { ...servedHeaders(held, deps.clock.nowMs()), ...deps.answerHeaders(upstream.headers) };
  headers["content-type"] ??= "text/event-stream; charset=utf-8";
  headers["cache-control"] = "no-cache, no-transform";
  headers["x-accel-buffering"] = "no";
  return { status: upstream.status, headers, body };
}

async function ask(
  held: Held,
  facts: ResponseFacts,
  asked: Asked,
  errors: ErrorContext,
  deps: Background,
): Promise<GatewayAnswer | AttemptFailure> {
  const ticket = beginAttempt(held, deps);
  const failed = (failure: AttemptFailure): AttemptFailure => {
    endAttempt(held, ticket, failure.failure, deps);
    return failure;
  };
  try {
    const upstream = await forward(held, (name) => asked.request.headers.get(name), undefined, deps);
    if (upstream.status >= 400) return failed(await failureOfAnswer(held, upstream, errors, deps.clock.nowMs()));
    endAttempt(held, ticket, "succeeded", deps);
    const type = upstream.headers["content-type"];
    const isStream = held.request.isStream && typeof type === "string" && type.includes("text/event-stream");
    if (isStream) return await streamedAnswer(held, facts, upstream, deps);
    const answer = await wholeAnswer(held, facts, upstream, deps);
    return answer ?? failed(failureOfTransport(new UpstreamFailure("unknown", "closed"), errors));
  } catch (error) {
    return failed(
      failureOfTransport(
        error instanceof UpstreamFailure ? error : new UpstreamFailure("unknown", "closed", error),
        errors,
      ),
    );
  }
}

async function endFailed(held: Held, facts: ResponseFacts, failure: AttemptFailure, deps: Background): Promise<void> {
  if (failure.due === "unknown") {
    // The worker waits, and books it as a call whose end nobody saw.
    await handOver(held, deps);
    return;
  }
  const ending = createEnding(held, deps);
  if (failure.due === "nothing") await ending.void();
  else {
    const usage = { ...NO_USAGE, inputTokens: held.request.inputGuess() };
    const outcome = "upstream_error" as const;
    await ending.settle({ usage, isEstimated: true, outcome, statusCode: failure.status, firstByteMs: null });
  }
  // Not told, the worker finds that the reservation is open no more.
  await deps.register.move({ to: "void", facts }, []).catch(() => undefined);
}

/** Serves a held call in the background. Throws StoreUnavailable, with the hold given back. */
export async function serveInBackground(
  held: Held,
  asked: Asked,
  errors: ErrorContext,
  given: BackgroundDeps,
): Promise<GatewayAnswer> {
  const { register } = given;
  if (!register) throw new Error("a background call was held without a register");
  const deps: Background = { ...given, register };
  const facts = factsOf(held, deps.clock.nowMs());
  try {
    await register.move({ to: "creating", facts }, []);
  } catch (error) {
    await deps.ledger.void(openOf(held));
    throw error;
  }
  const result = await ask(held, facts, asked, errors, deps);
  if (!("failure" in result)) return result;
  await endFailed(held, facts, result, deps);
  return result.answer(deps.random());
}
