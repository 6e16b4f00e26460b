/**
 * Calls that must not run twice: claims with a lease, and the answers of those that ended well, sealed under a key of their own.
 * A waiting caller asks again and again; claims are few beside calls, and nobody has to hear a message for a claim to be right.
 */
import { createHash } from "node:crypto";
import { deriveKey, openBytes, sealBytes } from "@/lib/config/secret-box";
import type { CallClaim, CallClaims, ClaimOutcome, KeptAnswer } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { numberAt, runScript, textAt } from "./scripts";

export interface CallClaimsOptions {
  readonly connection: HotConnection;
  /** 32 bytes. */
  readonly masterKey: Buffer;
  readonly sleep: (ms: number) => Promise<void>;
  /** How long a claim outlives the last sign of life of its process. */
  readonly leaseMs?: number;
  /** How long a caller waits for the end of a call that runs already. */
  readonly waitMs?: number;
  readonly maxBytes?: number;
  /** Callers of this process that may wait at once; one more is told to come again. */
  readonly maxWaiting?: number;
}

const DEFAULTS = { leaseMs: 15_000, waitMs: 60_000, maxBytes: 2 * 1024 * 1024, maxWaiting: 1_000 };
const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 250;
const END_TRIES = 5;
const END_PAUSE_MS = 100;

interface ClosableCallClaims extends CallClaims {
  /** Stops renewing; what is claimed lapses with its lease. */
  close(): void;
}

function sealedContext({ organisationId, id, content }: CallClaim): string {
  return `answer:${organisationId}:${id}:${content}`;
}

/** Status and headers as one line of JSON, then the body. */
function packed({ status, headers, body }: KeptAnswer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ status, headers })}\n`), body]);
}

function unpacked(bytes: Buffer): KeptAnswer {
  const end = bytes.indexOf(0x0a);
  const head = JSON.parse(bytes.toString("utf8", 0, end)) as Pick<KeptAnswer, "status" | "headers">;
  return { ...head, body: bytes.subarray(end + 1) };
}

async function fingerprint(parts: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of parts) hash.update(part);
  return hash.digest("hex");
}

class RedisCallClaims implements ClosableCallClaims {
  readonly fingerprint = fingerprint;
  readonly maxBytes: number;
  private readonly settings: Required<CallClaimsOptions>;
  private readonly key: Buffer;
  private readonly running = new Set<CallClaim>();
  private readonly renewing: NodeJS.Timeout;
  private waiting = 0;

  constructor(options: CallClaimsOptions) {
    this.settings = { ...DEFAULTS, ...options };
    this.maxBytes = this.settings.maxBytes;
    this.key = deriveKey(options.masterKey, "kept answers");
    this.renewing = setInterval(() => {
      for (const claim of this.running) void this.move(claim, "r", this.settings.leaseMs, "").catch(() => undefined);
    }, this.settings.leaseMs / 5).unref();
  }

  private async ask(claim: CallClaim): Promise<ClaimOutcome> {
    const key = keysOf(claim.organisationId).claim(claim.id);
    const args = [claim.content, claim.requestId, this.settings.leaseMs];
    const reply = await runScript(this.settings.connection.redis, "claimCall", [key], args).catch((error: unknown) => {
      throw new StoreUnavailable("a call could not be claimed", 1000, error);
    });
    switch (textAt(reply, 0)) {
      case "claimed":
        this.running.add(claim);
        return { code: "claimed" };
      case "mismatch":
        return { code: "mismatch" };
      case "r":
        return { code: "running" };
      case "k":
        return this.opened(claim, textAt(reply, 2));
      default:
        return { code: "not_kept" };
    }
  }

  /** An answer sealed under another master key cannot be replayed, and was paid for all the same. */
  private opened(claim: CallClaim, sealed: string): ClaimOutcome {
    try {
      const bytes = openBytes(this.key, Buffer.from(sealed, "base64"), sealedContext(claim));
      return { code: "kept", answer: unpacked(bytes) };
    } catch {
      return { code: "not_kept" };
    }
  }

  async claim(claim: CallClaim, signal: AbortSignal): Promise<ClaimOutcome> {
    const first = await this.ask(claim);
    if (first.code !== "running" || this.waiting >= this.settings.maxWaiting) return first;
    this.waiting += 1;
    try {
      let lookMs = FIRST_LOOK_MS;
      for (let waitedMs = 0; waitedMs < this.settings.waitMs && !signal.aborted; waitedMs += lookMs) {
        lookMs = Math.min(LAST_LOOK_MS, Math.ceil(lookMs * 1.5));
        await this.settings.sleep(lookMs);
        const outcome = await this.ask(claim);
        if (outcome.code !== "running") return outcome;
      }
      return first;
    } finally {
      this.waiting -= 1;
    }
  }

  private async move(claim: CallClaim, state: "r" | "k" | "n" | "", ttlMs: number, sealed: string): Promise<void> {
    const key = keysOf(claim.organisationId).claim(claim.id);
    const args = [claim.content, claim.requestId, state, Math.ceil(ttlMs), sealed];
    const reply = await runScript(this.settings.connection.redis, "moveClaim", [key], args);
    // Another has it: this process paused beyond its lease.
    if (numberAt(reply, 0) === 0) this.running.delete(claim);
  }

  /** Tries for half a second; after that the claim lapses with its lease. */
  private async end(claim: CallClaim, state: "r" | "k" | "n" | "", ttlMs: number, sealed: string): Promise<void> {
    // A renewal after this would say that the call is running.
    this.running.delete(claim);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.move(claim, state, ttlMs, sealed);
        return;
      } catch {
        if (tries >= END_TRIES) return;
        await this.settings.sleep(END_PAUSE_MS);
      }
    }
  }

  async pin(claim: CallClaim, pinnedMs: number): Promise<void> {
    await this.end(claim, "r", pinnedMs, "");
  }

  async keep(claim: CallClaim, answer: KeptAnswer | null, keepMs: number): Promise<void> {
    const sealed = answer ? sealBytes(this.key, packed(answer), sealedContext(claim)).toString("base64") : "";
    await this.end(claim, answer ? "k" : "n", keepMs, sealed);
  }

  async release(claim: CallClaim): Promise<void> {
    await this.end(claim, "", 0, "");
  }

  close(): void {
    clearInterval(this.renewing);
  }
}

export function createCallClaims(options: CallClaimsOptions): ClosableCallClaims {
  return new RedisCallClaims(options);
}
