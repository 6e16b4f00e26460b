/** A whole (not streamed) answer: read, metered, settled and passed on as it came. */
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import { NO_USAGE } from "../wire/openai-usage";
import { costHeader, servedHeaders } from "../wire/response-headers";
import { isEncoded, readBody } from "./meter";
import type { Measured } from "./settle";
import { priceUsage } from "./settle";

function measure(held: Held, bytes: Uint8Array, upstream: UpstreamResponse, firstByteMs: number): Measured {
  const { status, headers } = upstream;
  const reading = readBody(bytes);
  if (reading.usage)
    return { usage: reading.usage, isEstimated: isEncoded(headers), outcome: "ok", statusCode: status, firstByteMs };
  const usage = {
    ...NO_USAGE,
    inputTokens: held.request.inputGuess(),
    outputTokens: held.request.kind === "chat" ? reading.outputGuess : 0,
  };
  return { usage, isEstimated: true, outcome: "ok", statusCode: status, firstByteMs };
}

/** Throws UpstreamFailure where the body breaks off; the caller ends the reservation then. */
export async function answerBody(
  held: Held,
  upstream: UpstreamResponse,
  ending: Ending,
  nowMs: () => number,
): Promise<GatewayAnswer> {
  const firstByteMs = nowMs() - held.caller.startedMs;
  const bytes = await upstream.bytes();
  const measured = measure(held, bytes, upstream, firstByteMs);
  const cost = priceUsage(held, measured.usage);
  // Not awaited: the caller need not wait for the books. The host keeps the process alive until they stand.
  void ending.settle(measured, cost);
  const type = upstream.headers["content-type"];
  return {
    status: upstream.status,
    body: bytes,
    headers: {
      ...servedHeaders(held, nowMs()),
      "content-type": typeof type === "string" ? type : "application/json",
      "x-spillway-cost": costHeader(cost.amount),
    },
  };
}
