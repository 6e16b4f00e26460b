/**
 * Deferred calls in Redis: the hand-over to the worker (a stream), and what a gateway tells about them (a hash each), since gateways
 * do not reach Postgres, where they are kept. Text is sealed under a key of its own.
 */
import type { Redis } from "ioredis";
import { deriveKey, openBytes, sealBytes } from "@/lib/config/secret-box";
import type { DeferredAnswer, DeferredFacts, DeferredRequest, DeferredState } from "@/lib/domain/deferred-call";
import type { DeferralStore, DeferredView } from "@/lib/gateway/ports";
import { StoreUnavailable } from "@/lib/gateway/ports";
import type { HotConnection } from "./client";
import { keysOf } from "./keys";
import { numberAt, runScript, textAt } from "./scripts";

/** Seals and opens what deferred calls say. Boxes of one call do not open as another's, nor a request as an answer. */
export class DeferredBoxes {
  private readonly key: Buffer;

  constructor(masterKey: Buffer) {
    this.key = deriveKey(masterKey, "deferred calls");
  }

  seal(
    what: "request" | "answer",
    organisationId: string,
    id: string,
    value: DeferredRequest | DeferredAnswer,
  ): Buffer {
    return sealBytes(this.key, Buffer.from(JSON.stringify(value), "utf8"), `${what}:${organisationId}:${id}`);
  }

  /** Throws where the box was sealed under another key, or changed. */
  openRequest(organisationId: string, id: string, box: Uint8Array): DeferredRequest {
    return JSON.parse(openBytes(this.key, box, `request:${organisationId}:${id}`).toString("utf8")) as DeferredRequest;
  }

  openAnswer(organisationId: string, id: string, box: Uint8Array): DeferredAnswer {
    return JSON.parse(openBytes(this.key, box, `answer:${organisationId}:${id}`).toString("utf8")) as DeferredAnswer;
  }
}

interface Stored {
  readonly s?: DeferredState;
  readonly m?: string;
  readonly c?: string;
  readonly a?: string;
}

function livesMs(facts: DeferredFacts, nowMs: number): number {
  return Math.max(1_000, facts.deadlineMs - nowMs) + facts.keepSeconds * 1000;
}

/** Calls of an organisation on their way to Postgres: beyond that its callers come again, and nobody else hears of it. */
const MAX_WAITING = 2_000;

export function createDeferralStore(
  connection: HotConnection,
  boxes: DeferredBoxes,
  nowMs: () => number,
  maxWaiting = MAX_WAITING,
): DeferralStore {
  const unavailable = (error: unknown): never => {
    throw new StoreUnavailable("deferred calls cannot be reached", 1000, error);
  };
  return {
    accept: async (organisationId, facts, request) => {
      const keys = keysOf(organisationId);
      const waiting = await connection.redis.xlen(keys.deferrals).catch(unavailable);
      if (waiting >= maxWaiting) throw new StoreUnavailable("too many deferred calls wait to be taken over");
      const json = JSON.stringify(facts);
      const box = boxes.seal("request", organisationId, facts.id, request).toString("base64");
      const written = await connection.redis
        .multi()
        .hset(keys.deferred(facts.id), { s: "pending", m: json, c: "", a: "" })
        .pexpire(keys.deferred(facts.id), livesMs(facts, nowMs()))
        .xadd(keys.deferrals, "*", "m", json, "r", box)
        .exec()
        .catch(unavailable);
      if (written === null || written.some(([error]) => error !== null)) unavailable(written);
    },
    read: async (organisationId, id): Promise<DeferredView | undefined> => {
      const stored = (await connection.redis.hgetall(keysOf(organisationId).deferred(id)).catch(unavailable)) as Stored;
      if (stored.s === undefined || stored.m === undefined) return undefined;
      const answer = stored.a ? boxes.openAnswer(organisationId, id, Buffer.from(stored.a, "base64")) : null;
      return {
        facts: JSON.parse(stored.m) as DeferredFacts,
        state: stored.s,
        code: stored.c ? stored.c : null,
        answer,
      };
    },
    cancel: async (organisationId, id, keepSeconds) => {
      const key = keysOf(organisationId).deferred(id);
      const args = [",pending,", "cancelled", keepSeconds * 1000, "", "", ""];
      // A call that is gone stays gone: its facts are not given.
      const reply = await runScript(connection.redis, "moveDeferred", [key], args).catch(unavailable);
      return textAt(reply, 0) as DeferredState;
    },
  };
}

export interface HandedOver {
  readonly entryId: string;
  readonly facts: DeferredFacts;
  readonly box: Buffer;
}

/** Calls on their way to Postgres, oldest first. */
export async function readHandedOver(redis: Redis, organisationId: string, count: number): Promise<HandedOver[]> {
  const entries = await redis.xrange(keysOf(organisationId).deferrals, "-", "+", "COUNT", count);
  return entries.map(([entryId, fields]) => ({
    entryId,
    facts: JSON.parse(fields[fields.indexOf("m") + 1] ?? "{}") as DeferredFacts,
    box: Buffer.from(fields[fields.indexOf("r") + 1] ?? "", "base64"),
  }));
}

/** Takes off what stands in Postgres. */
export async function removeHandedOver(redis: Redis, organisationId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await redis.xdel(keysOf(organisationId).deferrals, ...ids);
}

export interface DeferredMove {
  readonly facts: DeferredFacts;
  readonly from: readonly DeferredState[];
  readonly to: DeferredState;
  readonly code?: string | null;
  readonly answerBox?: Buffer | null;
}

/** Tells gateways where a call stands. False where it stands elsewhere than it may come from: somebody cancelled it. */
export async function moveDeferred(
  redis: Redis,
  organisationId: string,
  nowMs: number,
  move: DeferredMove,
): Promise<boolean> {
  const { facts, from, to, code, answerBox } = move;
  const key = keysOf(organisationId).deferred(facts.id);
  const sealed = answerBox ? answerBox.toString("base64") : "";
  const args = [`,${from.join(",")},`, to, livesMs(facts, nowMs), JSON.stringify(facts), code ?? "", sealed];
  return numberAt(await runScript(redis, "moveDeferred", [key], args), 1) === 1;
}
