/** Requests for streams of every make, and whether what the client got is what the provider sent, byte by byte. */
import type { RawRequest } from "./raw-client";
import type { Side, StreamRecord } from "./records";
import { markOf } from "./records";

export interface StreamMake {
  readonly route: "chat/completions" | "messages" | "responses";
  readonly tokens: number;
  /** Milliseconds between events where the tap paces them; otherwise the sandbox does, by \`chunkDelayMs\`. */
  readonly paceMs?: number;
  readonly chunkDelayMs?: number;
  /** Whether the caller asks for the usage; where it does not, the gateway asks, and keeps that event to itself. */
  readonly wantsUsage: boolean;
  readonly splitAt?: number;
  readonly crlf?: boolean;
  readonly commentEvery?: number;
  readonly keepAlives?: number;
  readonly padBytes?: number;
  readonly multibyte?: boolean;
}

const MODEL = "sandbox-small";

export function requestFor(id: number, make: StreamMake): RawRequest {
  const { route, tokens, wantsUsage, paceMs = 0, ...control } = make;
  const prompt = `Tell me of ${markOf({ id, paceMs })}.`;
  const messages = [{ role: "user", content: prompt }];
  const bodies = {
    "chat/completions": {
      messages,
      max_tokens: tokens,
      ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
    },
    messages: { messages, max_tokens: tokens },
    responses: { input: prompt, max_output_tokens: tokens },
  };
  const sandbox = { completionTokens: tokens, ...control };
  return { path: `/v1/${route}`, body: JSON.stringify({ model: MODEL, stream: true, ...bodies[route], sandbox }) };
}

const SPLITS = [1, 2, 3, 5, 7, 13, 64, 999] as const;
const ROUTES = ["chat/completions", "chat/completions", "messages", "responses"] as const;

/** Number `index` of streams that differ in all that may go wrong with frames; every combination comes up by and by. */
export function oddMake(index: number): StreamMake {
  const turn = Math.floor(index / SPLITS.length);
  const splitAt = SPLITS[index % SPLITS.length] ?? 1;
  return {
    route: ROUTES[turn % ROUTES.length] ?? "chat/completions",
    tokens: splitAt < 5 ? 16 : 40,
    chunkDelayMs: 5,
    wantsUsage: index % 3 === 0,
    splitAt,
    crlf: turn % 2 === 1,
    multibyte: turn % 3 !== 0,
    ...(turn % 5 === 0 ? {} : { commentEvery: turn % 5 }),
    ...(turn % 7 === 0 ? { keepAlives: 3 } : {}),
    ...(splitAt >= 64 && turn % 2 === 0 ? { padBytes: 100_000 } : {}),
  };
}

/** One character a byte, so that nothing is decoded and nothing lost. */
function bytesOf(side: Side): string {
  return Buffer.concat(side.parts).toString("latin1");
}

function eventsOf(text: string): string[] {
  return text.match(/[^]*?(?:\r\n\r\n|\n\n)|[^]+$/gu) ?? [];
}

function isUsageEvent(event: string): boolean {
  return event.includes('"choices":[]') && event.includes('"usage":{');
}

function answerText(tokens: number, isMultibyte: boolean): string {
  const word = isMultibyte ? "水🌊" : "w";
  return Array.from({ length: tokens }, (_, index) => word + String(index)).join(" ");
}

interface ChatChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

/** What is wrong with a chat stream as an SDK reads it. */
function chatProblem(got: string, make: StreamMake): string | undefined {
  const text = Buffer.from(got, "latin1").toString("utf8");
  const data = text.split(/\r?\n/u).flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []));
  if (data.at(-1) !== "[DONE]") return "it does not end with [DONE]";
  const chunks = data.slice(0, -1).map((json) => JSON.parse(json) as ChatChunk);
  const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
  if (said !== answerText(make.tokens, make.multibyte === true)) return "its text is another";
  if (chunks.some(({ choices }) => choices.length === 0) !== make.wantsUsage) return "its usage is not as asked";
  return undefined;
}

/** What is wrong with a stream that came through the gateway; undefined where nothing is. */
export function problemOf(record: StreamRecord, make: StreamMake): string | undefined {
  if (record.status !== 200) return `answered ${String(record.status)}: ${bytesOf(record.got).slice(0, 300)}`;
  if (!record.isOver) return "it broke off";
  const got = bytesOf(record.got);
  const isHidden = make.route === "chat/completions" && !make.wantsUsage;
  const sent = isHidden
    ? eventsOf(bytesOf(record.sent))
        .filter((event) => !isUsageEvent(event))
        .join("")
    : bytesOf(record.sent);
  if (sent === "") return "nothing of it passed the tap";
  if (got !== sent) return `${String(got.length)} bytes came and ${String(sent.length)} were sent, or others`;
  if (record.splitChunks > 0) return `${String(record.splitChunks)} transfer chunks end within an event`;
  return make.route === "chat/completions" ? chatProblem(got, make) : undefined;
}
