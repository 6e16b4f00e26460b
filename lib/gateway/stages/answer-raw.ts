/**
 * An answer that is neither events nor read for its usage: sound, passed on as it comes and never whole in memory. What it
 * costs is said by the request, or held where only the provider knows.
 */
import type { Outcome } from "@/lib/domain/usage-event";
import type { ByteStream } from "../byte-stream";
import type { Ending } from "../ending";
import type { Held } from "../exchange";
import type { GatewayAnswer } from "../http";
import type { UpstreamResponse } from "../ports";
import { servedHeaders } from "../wire/response-headers";
import type { AnswerDeps } from "./answer-body";
import { readBody } from "./meter";

const NOTHING = new Uint8Array(0);

/** Whether the answer of a call is passed on without being read. */
export function isRaw({ request }: Held): boolean {
  return request.kind === "speech" && !request.isStream;
}

export function answerRaw(held: Held, upstream: UpstreamResponse, ending: Ending, deps: AnswerDeps): GatewayAnswer {
  const firstByteMs = deps.clock.nowMs() - held.caller.startedMs;
  const settle = (outcome: Outcome): void => {
    const { usage, isEstimated } = readBody(held, NOTHING);
    const isGuess = isEstimated || outcome !== "ok";
    void ending.settle({ usage, isEstimated: isGuess, outcome, statusCode: upstream.status, firstByteMs });
  };
  const body: ByteStream = {
    start: (client) => {
      upstream.body.start({
        write: (bytes) => client.write(bytes),
        end: () => {
          settle("ok");
          client.end();
        },
        // Half a recording has no other way to say so than to break off.
        fail: (error) => {
          settle("upstream_error");
          client.fail(error);
        },
      });
    },
    resume: () => {
      upstream.body.resume();
    },
    cancel: () => {
      settle("aborted");
      upstream.body.cancel();
    },
  };
  const headers = servedHeaders(held, deps.clock.nowMs());
  Object.assign(headers, deps.answerHeaders(upstream.headers));
  headers["content-type"] ??= "application/octet-stream";
  return { status: upstream.status, body, headers };
}
