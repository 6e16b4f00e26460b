/**
 * Streams a chat answer as server-sent events: a role chunk per choice, content chunks in turn, a finish chunk per
 * choice, the usage chunk when asked for (all earlier chunks then carry `usage: null`), and `[DONE]`.
 *
 * A client that leaves pays for the prompt, the hidden reasoning and the tokens written so far. Without
 * `chunkDelayMs` a short answer is written in one piece, so nothing of it can be cut any more.
 */
import { failInstead } from "./answer";
import { type ChatPlan, usageJson } from "./chat-plan";
import { controlledErrorJson } from "./errors";
import { afterLatency, book, type Exchange, providerHeaders } from "./exchange";
import { answerText } from "./tokens";

interface Chunk {
  readonly text: string;
  /** Visible tokens in it; 0 for role, finish and usage chunks. */
  readonly tokens: number;
}

/** Written at once; beyond it the socket's back-pressure sets the pace. */
const BATCH_CHARACTERS = 32_768;
const DEFAULT_CUT_AFTER_CHUNKS = 1;
const CUTTING_FAULTS: ReadonlySet<unknown> = new Set(["cut_stream", "half_json", "error_in_stream"]);
const STREAM_HEADERS = "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n";
const DONE = "data: [DONE]\n\n";

export function streamChat(exchange: Exchange, plan: ChatPlan): void {
  afterLatency(
    exchange,
    () => {
      if (!failInstead(exchange, plan)) new ChatStream(exchange, plan).start();
    },
    () => book(exchange, { ...plan, completionTokens: 0 }, true),
  );
}

class ChatStream {
  private readonly chunks: Iterator<Chunk, undefined>;
  private readonly cutAfterChunks: number;
  private producedTokens: number;
  private contentChunks = 0;
  private timer: NodeJS.Timeout | undefined;
  private isBooked = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly plan: ChatPlan,
  ) {
    const { control } = exchange;
    this.chunks = chunksOf(plan, exchange);
    this.producedTokens = plan.reasoningTokens;
    this.cutAfterChunks = CUTTING_FAULTS.has(control.fault)
      ? (control.cutAfterChunks ?? DEFAULT_CUT_AFTER_CHUNKS)
      : Infinity;
  }

  start(): void {
    const { reply, control } = this.exchange;
    const encoding = control.fault === "wrong_gzip" ? "content-encoding: gzip\r\n" : "";
    reply.start(STREAM_HEADERS + providerHeaders(this.exchange) + encoding);
    reply.whenGone(() => {
      clearTimeout(this.timer);
      this.bookProduced(true);
    });
    this.pump();
  }

  /** Writes until the stream ends, the socket is full, or a controlled delay is due. */
  private readonly pump = (): void => {
    const { reply, control } = this.exchange;
    const delayMs = control.chunkDelayMs ?? 0;
    let batch = "";
    for (;;) {
      if (this.contentChunks >= this.cutAfterChunks) {
        this.cut(batch);
        return;
      }
      const next = this.chunks.next();
      if (next.done === true) {
        this.finish(batch);
        return;
      }
      batch += next.value.text;
      if (next.value.tokens > 0) {
        this.producedTokens += next.value.tokens;
        this.contentChunks += 1;
        if (delayMs > 0) {
          reply.write(batch);
          this.timer = setTimeout(this.pump, delayMs);
          return;
        }
      }
      if (batch.length >= BATCH_CHARACTERS) {
        if (!reply.write(batch)) {
          reply.onceDrain(this.pump);
          return;
        }
        batch = "";
      }
    }
  };

  private finish(batch: string): void {
    this.bookProduced(this.exchange.control.fault === "wrong_gzip");
    this.exchange.reply.end(batch + DONE);
  }

  private cut(batch: string): void {
    const { reply, control } = this.exchange;
    this.bookProduced(true);
    if (control.fault === "error_in_stream") {
      reply.end(`${batch}data: ${controlledErrorJson(control, 500)}\n\n`);
    } else if (control.fault === "half_json") {
      const text = this.chunks.next().value?.text ?? "";
      reply.end(batch + text.slice(0, Math.floor(text.length / 2)));
    } else {
      reply.cut(batch);
    }
  }

  private bookProduced(aborted: boolean): void {
    if (this.isBooked) return;
    this.isBooked = true;
    book(this.exchange, { ...this.plan, completionTokens: this.producedTokens }, aborted);
  }
}

function* chunksOf(plan: ChatPlan, { control }: Exchange): Generator<Chunk, undefined> {
  const shell = shellOf(plan, plan.id);
  const tail = plan.includeUsage ? `}],"usage":null}\n\n` : "}]}\n\n";
  const step = control.tokensPerChunk ?? 1;
  const longest = Math.max(...plan.choices);
  for (let index = 0; index < plan.choices.length; index += 1) {
    const delta = `"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null`;
    yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: 0 };
  }
  for (let from = 0; from < longest; from += step) {
    for (let index = 0; index < plan.choices.length; index += 1) {
      const to = Math.min(from + step, plan.choices[index] ?? 0);
      if (to <= from) continue;
      const delta = `"delta":{"content":"${answerText(from, to)}"},"logprobs":null,"finish_reason":null`;
      yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: to - from };
    }
  }
  for (let index = 0; index < plan.choices.length; index += 1) {
    const delta = `"delta":{},"logprobs":null,"finish_reason":"${plan.finishReason}"`;
    yield { text: `${shell}{"index":${index},${delta}${tail}`, tokens: 0 };
  }
  const usage = plan.includeUsage ? usageJson(plan, control) : undefined;
  if (usage !== undefined) {
    const id = control.fault === "empty_id_usage" ? "" : plan.id;
    yield { text: `${shellOf(plan, id)}],${usage}}\n\n`, tokens: 0 };
  }
  return undefined;
}

/** The part that all chunks of an answer share, up to the opening of `choices`. */
function shellOf(plan: ChatPlan, id: string): string {
  return (
    `data: {"id":"${id}","object":"chat.completion.chunk","created":${plan.createdSeconds},` +
    `"model":"${plan.model.id}","service_tier":"default","system_fingerprint":"fp_sandbox","choices":[`
  );
}
