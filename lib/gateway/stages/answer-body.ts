/** A whole (not streamed) answer: read, metered, settled and passed on as it came, or in the client's own shape. */
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { AnswerHeaders, UpstreamResponse } from "../ports";
import { costHeader, servedHeaders } from "../wire/response-headers";
import { isEncoded, readBody } from "./meter";
import { priceUsage } from "./settle";
import { translatedAnswer } from "./translation";

export interface AnswerDeps {
  readonly clock: { nowMs(): number };
  readonly answerHeaders: AnswerHeaders;
}

/** Undefined where a translated answer has no counterpart; what it cost is booked all the same. */
function bodyFor(held: Held, bytes: Uint8Array, nowMs: number): Uint8Array | string | undefined {
  const { translation } = held.serving.target;
  return translation === null ? bytes : translatedAnswer(bytes, translation, Math.floor(nowMs / 1000));
}

/** Throws UpstreamFailure where the body breaks off; the caller ends the reservation then. */
export async function answerBody(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  deps: AnswerDeps,
): Promise<GatewayAnswer | undefined> {
  const firstByteMs = deps.clock.nowMs() - held.caller.startedMs;
  const bytes = await upstream.bytes();
  const { usage, isEstimated } = readBody(held, bytes);
  const cost = priceUsage(held, usage);
  const isGuess = isEstimated || isEncoded(upstream.headers);
  // Not awaited: the caller need not wait for the books. The host keeps the process alive until they stand.
  void ending.settle({ usage, isEstimated: isGuess, outcome: "ok", statusCode: upstream.status, firstByteMs }, cost);
  const nowMs = deps.clock.nowMs();
  const body = bodyFor(held, bytes, nowMs);
  if (body === undefined) return undefined;
  const headers = servedHeaders(held, nowMs);
  Object.assign(headers, deps.answerHeaders(upstream.headers));
  if (held.serving.target.translation !== null) headers["content-type"] = "application/json";
  headers["content-type"] ??= "application/json";
  headers["x-spillway-cost"] = costHeader(cost.amount);
  return { status: upstream.status, body, headers };
}
