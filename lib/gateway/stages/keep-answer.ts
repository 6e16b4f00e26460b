/**
 * Ends the claim of a call: an answer that was served is kept before its last byte is given, everything else frees the name. A
 * stream is read to its end even where its client leaves: who names a call comes again for it, and would pay twice.
 */
import type { GatewayAnswer } from "../http";
import { joined } from "../http";
import type { CallClaims, KeptAnswer } from "../ports";
import type { Claimed, ClaimDeps, ClaimSlot } from "./claim";

const encoder = new TextEncoder();

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

/** The body, copied while it passes. `end` is told once: the copy, or undefined where it broke off. */
function copied(
  body: ReadableStream<Uint8Array>,
  copy: Copy,
  end: (isWhole: boolean) => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let isGone = false;
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      const part = await reader.read();
      if (!part.done) {
        copy.add(part.value);
        return part.value;
      }
    } catch (error) {
      await end(false);
      throw error;
    }
    await end(true);
    return undefined;
  };
  const readRest = async (): Promise<void> => {
    while ((await next()) !== undefined);
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const part = await next();
      if (isGone) return;
      if (part) controller.enqueue(part);
      else controller.close();
    },
    cancel: () => {
      isGone = true;
      // Not awaited: the host must be free to close the connection.
      void readRest().catch(() => undefined);
    },
  });
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
  if (!(body instanceof ReadableStream)) {
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
