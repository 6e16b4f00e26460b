/**
 * Ends the claim of a call: an answer that was served is kept before its last byte is given, everything else frees the name. A
 * stream is read to its end even where its client leaves: who names a call comes again for it, and would pay twice.
 */
import type { ByteSink, ByteStream } from "../byte-stream";
import { isByteStream } from "../byte-stream";
import type { GatewayAnswer } from "../http";
import { joined } from "../http";
import type { CallClaims, KeptAnswer } from "../ports";
import type { Claimed, ClaimDeps, ClaimSlot } from "./claim";

const encoder = new TextEncoder();
const NOBODY: ByteSink = { write: () => true, end: () => undefined, fail: () => undefined };

/** What has been read of a body, up to a bound. */
class Copy {
  private parts: Uint8Array[] | undefined = [];
  private length = 0;

  constructor(private readonly maxBytes: number) {}

  add(bytes: Uint8Array): void {
    this.length += bytes.length;
    if (this.length > this.maxBytes) this.parts = undefined;
    else this.parts?.push(bytes);
  }

  /** Undefined where it is longer than the bound. */
  bytes(): Uint8Array | undefined {
    return this.parts && joined(this.parts, this.length);
  }
}

async function endServed(
  claimed: Claimed,
  answer: GatewayAnswer,
  body: Uint8Array | undefined,
  claims: CallClaims,
): Promise<void> {
  const { claim, keepMs, isNamed, keepsAnswer } = claimed;
  const kept: KeptAnswer | null =
    keepsAnswer && body !== undefined && body.length <= claims.maxBytes
      ? { status: answer.status, headers: answer.headers, body }
      : null;
  // Who did not name the call has not asked for it to be remembered without its answer.
  if (kept === null && !isNamed) await claims.release(claim);
  else await claims.keep(claim, kept, keepMs);
}

/** The body, copied while it passes. `end` is told once whether it was whole; the client's last word waits for it. */
function copied(body: ByteStream, copy: Copy, end: (isWhole: boolean) => Promise<void>): ByteStream {
  let isGone = false;
  let isStarted = false;
  const start = (client: ByteSink): void => {
    isStarted = true;
    const last = (isWhole: boolean, say: () => void): void => {
      void end(isWhole).then(() => {
        if (!isGone) say();
      });
    };
    body.start({
      write: (bytes) => {
        copy.add(bytes);
        return isGone || client.write(bytes);
      },
      end: () => {
        last(true, () => {
          client.end();
        });
      },
      fail: (error) => {
        last(false, () => {
          client.fail(error);
        });
      },
    });
  };
  return {
    start,
    resume: () => {
      body.resume();
    },
    // The rest is read for who comes again.
    cancel: () => {
      isGone = true;
      if (isStarted) body.resume();
      else start(NOBODY);
    },
  };
}

/** Takes the claim over from `slot` where the answer was served. `waitUntil` gets a promise where the claim ends after this. */
export async function endClaim(
  slot: ClaimSlot,
  answer: GatewayAnswer,
  { claims }: ClaimDeps,
  waitUntil: (promise: Promise<unknown>) => void,
): Promise<GatewayAnswer> {
  const claimed = slot.current;
  if (!claimed || !claims || answer.status >= 400) return answer;
  slot.current = undefined;
  const { body } = answer;
  if (!isByteStream(body)) {
    await endServed(claimed, answer, typeof body === "string" ? encoder.encode(body) : body, claims);
    return answer;
  }
  const copy = new Copy(claims.maxBytes);
  let isOver: () => void = () => undefined;
  waitUntil(
    new Promise<void>((resolve) => {
      isOver = resolve;
    }),
  );
  let ending: Promise<void> | undefined;
  const end = (isWhole: boolean): Promise<void> =>
    (ending ??= (
      isWhole && slot.outcome() === "ok"
        ? endServed(claimed, answer, copy.bytes(), claims)
        : claims.release(claimed.claim)
    ).finally(isOver));
  return { status: answer.status, headers: answer.headers, body: copied(body, copy, end) };
}
