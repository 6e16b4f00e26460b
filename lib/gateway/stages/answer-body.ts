/** A whole (not streamed) answer: read, metered, settled and passed on as it came, or in the client's own shape. */
import { MoneyError } from "@/lib/domain/money";
import type { TokenUsage } from "@/lib/domain/usage-event";
import { PriceError } from "@/lib/pricing/decimal";
import { isErrorInDisguise } from "@/lib/routing/upstream-error";
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { AnswerHeaders, UpstreamResponse } from "../ports";
import { costHeader, servedHeaders } from "../wire/response-headers";
import { isEncoded, readBody } from "./meter";
import type { Cost } from "./settle";
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

/** Undefined where the provider used what the model has no price for: it is booked at the hold then, and served. */
function priced(held: Held, usage: TokenUsage): Cost | undefined {
  try {
    return priceUsage(held, usage);
  } catch (error) {
    if (error instanceof PriceError || error instanceof MoneyError) return undefined;
    throw error;
  }
}

/** An error behind a status that promised an answer, as some vendors send it: nothing was served. */
export interface HiddenError {
  readonly errorBytes: Uint8Array;
}

const MAX_ERROR_BYTES = 64 * 1024;

function hidesError(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_ERROR_BYTES) return false;
  try {
    return isErrorInDisguise(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return false;
  }
}

/** Throws UpstreamFailure where the body breaks off; the caller ends the reservation then. */
export async function answerBody(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  deps: AnswerDeps,
): Promise<GatewayAnswer | HiddenError | undefined> {
  const firstByteMs = deps.clock.nowMs() - held.caller.startedMs;
  const bytes = await upstream.bytes();
  const { usage, isEstimated } = readBody(held, bytes);
  // Who states what was used has served; only the others are looked at again.
  if (isEstimated && hidesError(bytes)) return { errorBytes: bytes };
  const cost = priced(held, usage);
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
  if (cost) headers["x-spillway-cost"] = costHeader(cost.amount);
  return { status: upstream.status, body, headers };
}
