/** Calls over HTTP with kept-alive connections, spread over gateway processes, with what the answer said. */
import { Pool } from "undici";

export interface ChatCall {
  readonly key: string;
  /** JSON text or its bytes. */
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  /** 0: no answer at all (connection cut, process gone). */
  readonly status: number;
  /** `error.code` of a refusal; "" otherwise. */
  readonly code: string;
  readonly requestId: string;
  readonly servedModel: string;
  /** pass, downgrade, ... */
  readonly decision: string;
  readonly rung: string;
  readonly text: string;
}

export interface SandboxControl {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly latencyMs?: number;
  readonly chunkDelayMs?: number;
  readonly tokensPerChunk?: number;
}

export interface ChatBody {
  readonly model: string;
  readonly prompt: string;
  readonly maxTokens: number;
  readonly stream?: boolean;
  readonly sandbox?: SandboxControl;
}

export function chatBody({ model, prompt, maxTokens, stream, sandbox }: ChatBody): string {
  return JSON.stringify({
    model,
    messages: [{ role: "user", content: prompt }],
    max_tokens: maxTokens,
    ...(stream === true ? { stream: true } : {}),
    ...(sandbox === undefined ? {} : { metadata: { sandbox: JSON.stringify(sandbox) } }),
  });
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === "string" ? value : (value?.[0] ?? "");
}

function codeOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string | null; type?: string } };
    return error?.code ?? error?.type ?? "";
  } catch {
    return "";
  }
}

export class LoadClient {
  private readonly pools: readonly Pool[];
  private turn = 0;

  /** `connections` for each process. */
  constructor(urls: readonly string[], connections: number) {
    this.pools = urls.map(
      (url) => new Pool(url, { connections, pipelining: 1, keepAliveTimeout: 60_000, headersTimeout: 60_000 }),
    );
  }

  /** Posts a chat completion and reads the whole answer. Never throws for an answer, whatever its status. */
  async chat(call: ChatCall, process?: number): Promise<Answer> {
    const index = process ?? this.turn++ % this.pools.length;
    const pool = this.pools[index];
    if (pool === undefined) throw new Error(`there is no process ${String(index)}`);
    try {
      const { statusCode, headers, body } = await pool.request({
        path: "/v1/chat/completions",
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${call.key}`, ...call.headers },
        body: call.body,
      });
      const text = await body.text();
      return {
        status: statusCode,
        code: statusCode === 200 ? "" : codeOf(text),
        requestId: textOf(headers["x-request-id"]),
        servedModel: textOf(headers["x-spillway-model"]),
        decision: textOf(headers["x-spillway-decision"]),
        rung: textOf(headers["x-spillway-rung"]),
        text,
      };
    } catch {
      return { status: 0, code: "no_answer", requestId: "", servedModel: "", decision: "", rung: "", text: "" };
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.destroy()));
  }
}

/** Runs `work` for each number below `count`, `width` at a time; results in order. */
export async function inParallel<T>(count: number, width: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
  return results;
}

/** Counts by a word, largest first. */
export function countBy<T>(items: readonly T[], wordOf: (item: T) => string): [word: string, count: number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(wordOf(item), (counts.get(wordOf(item)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
