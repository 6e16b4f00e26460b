/** Callers that keep calling while processes die under them: a refused or unheard call is tried again politely. */
import { setTimeout as pause } from "node:timers/promises";
import { Agent, request } from "undici";
import { seededRandom } from "../harness/load";
import type { PlannedCall } from "./calls";
import { bodyOf, drawCall } from "./calls";

export interface Attempt {
  readonly kind: string;
  /** 0: no answer. */
  readonly status: number;
  readonly requestId: string;
  /** The gateway process that was called; "" where none was up. */
  readonly url: string;
  /** Whether the answer was read to its end. */
  readonly isWhole: boolean;
  readonly isHungUp: boolean;
  readonly isRetry: boolean;
}

export interface TrafficOptions {
  readonly seed: number;
  readonly lanes: number;
  /** Secrets of the keys that call. */
  readonly keys: readonly string[];
  /** Gateway processes that are thought to be up now. */
  readonly urls: () => readonly string[];
}

const RETRIES = 4;
const CALL_TIMEOUT_MS = 45_000;

export class Traffic {
  readonly attempts: Attempt[] = [];
  private readonly agent = new Agent({ connections: 64, pipelining: 1, keepAliveTimeout: 10_000 });
  private isStopped = false;
  private readonly lanes: Promise<void>[];

  constructor(private readonly options: TrafficOptions) {
    this.lanes = Array.from({ length: options.lanes }, (_, lane) =>
      this.lane(seededRandom(options.seed * 1000 + lane)),
    );
  }

  /** Starts no further call; resolves when every one under way has ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.lanes);
    await this.agent.destroy();
  }

  private async lane(random: () => number): Promise<void> {
    while (!this.isStopped) {
      const key = this.options.keys[Math.floor(random() * this.options.keys.length)] ?? "";
      const call = drawCall(random);
      for (let retry = 0; retry <= RETRIES && !this.isStopped; retry += 1) {
        const { attempt, retryAfterMs } = await this.once(call, key, random, retry > 0);
        this.attempts.push(attempt);
        if (retryAfterMs === null) break;
        await pause(retryAfterMs * (0.5 + random()));
      }
      await pause(random() * 60);
    }
  }

  private async once(
    call: PlannedCall,
    key: string,
    random: () => number,
    isRetry: boolean,
  ): Promise<{ attempt: Attempt; retryAfterMs: number | null }> {
    const urls = this.options.urls();
    const url = urls[Math.floor(random() * urls.length)];
    const seen = { status: 0, requestId: "" };
    const hangUp = new AbortController();
    const timer = setTimeout(() => hangUp.abort(), call.hangUpAfterMs ?? CALL_TIMEOUT_MS);
    let isWhole = false;
    let retryAfterMs: number | null = null;
    try {
      if (url === undefined) throw new Error("no gateway is up");
      const answer = await request(`${url}/v1/chat/completions`, {
        dispatcher: this.agent,
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: bodyOf(call),
        signal: hangUp.signal,
      });
      seen.status = answer.statusCode;
      seen.requestId = String(answer.headers["x-request-id"] ?? "");
      await answer.body.dump({ limit: 10_000_000 });
      isWhole = true;
      if (answer.statusCode === 503) retryAfterMs = 1_000 * Math.min(2, Number(answer.headers["retry-after"] ?? "1"));
    } catch {
      // Its process was killed, or we hung up. Somebody who hung up does not call again.
      if (!hangUp.signal.aborted) retryAfterMs = 300;
    } finally {
      clearTimeout(timer);
    }
    const isHungUp = hangUp.signal.aborted;
    return { attempt: { kind: call.kind, ...seen, url: url ?? "", isWhole, isHungUp, isRetry }, retryAfterMs };
  }
}
