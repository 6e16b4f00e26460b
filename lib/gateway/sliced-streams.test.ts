/**
 * Random streams whose hold follows them, on a store that gives, refuses, is away, or gives and is not heard: what the client has
 * got is covered by what is held, nothing is taken twice, and the stream ends well and is booked once for all that was made.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { PolicyDocument } from "@/lib/domain/policy";
import { policyDocumentSchema } from "@/lib/domain/policy";
import type { ByteSink, ByteStream } from "./byte-stream";
import { isByteStream } from "./byte-stream";
import { createGatewayCore } from "./handler";
import type { ExtendInput, ExtendOutcome, PolicySource, ProviderClient, ReserveInput } from "./ports";
import { StoreUnavailable } from "./ports";
import { SECRET, world } from "./testing/world";

const MARGIN = 20;
const SLICE = 64;
const CAP = 400;
const POLICY = policyDocumentSchema.parse({
  reserve: { mode: "incremental", sliceTokens: SLICE, marginTokens: MARGIN },
});

type Reply = ExtendOutcome["code"] | "away" | "unheard";

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function chunk(content: string, finish: string | null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "c", created: 1, model: "m", choices })}\n\n`;
}

/** Sends a piece in each turn of the loop, at the reader's pace, until it is cancelled. */
class PacedStream implements ByteStream {
  isCancelled = false;
  /** Pieces that have left. */
  sent = 0;
  private hasRoom = true;

  constructor(private readonly pieces: readonly string[]) {}

  start(sink: ByteSink): void {
    void this.send(sink);
  }

  private async send(sink: ByteSink): Promise<void> {
    for (const piece of this.pieces) {
      do await turn();
      while (!this.hasRoom && !this.isCancelled);
      if (this.isCancelled) return;
      this.sent += 1;
      this.hasRoom = sink.write(new TextEncoder().encode(piece));
    }
    await turn();
    if (!this.isCancelled) sink.end();
  }

  resume(): void {
    this.hasRoom = true;
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

async function withPolicy(policies: PolicySource, document: PolicyDocument): Promise<PolicySource> {
  const snapshot = await policies.organisation("t0123456789a");
  if (!snapshot) throw new Error("the world has an organisation");
  const { documents } = snapshot;
  const consumers = documents.consumers.map((consumer) => ({ ...consumer, policyId: "p" }));
  const policy = { id: "p", active: { versionId: "v", document }, rollout: null };
  const changed = { ...snapshot, documents: { ...documents, consumers, policies: [policy] } };
  return { ...policies, organisation: () => Promise.resolve(changed) };
}

/** Counts what is held, and answers extensions as it is told, the last answer for all that follow. */
class ScriptedStore {
  /** Output tokens held. */
  covered = 0;
  sequence = 0;
  private asked = 0;
  private unheard: ExtendInput | undefined;

  constructor(private readonly replies: readonly Reply[]) {}

  reserved({ head }: ReserveInput): void {
    this.covered = tokensOf(`{${head.held[0] ?? ""}}`);
  }

  extend(input: ExtendInput): Promise<ExtendOutcome> {
    const reply = this.replies[Math.min(this.asked, this.replies.length - 1)] ?? "away";
    this.asked += 1;
    if (input.sequence === this.sequence) {
      // It took this one and was not heard: whoever asks again must ask for the same.
      expect(input.amounts).toEqual(this.unheard?.amounts);
      return Promise.resolve({ code: "extended", isOverflow: false });
    }
    expect(input.sequence).toBe(this.sequence + 1);
    if (reply === "away") return Promise.reject(new StoreUnavailable("away"));
    if (reply === "exhausted") {
      return Promise.resolve({ code: reply, binding: { budget: 0, settled: 1n, held: 1n, limit: 1n } });
    }
    if (reply !== "extended" && reply !== "unheard") return Promise.resolve({ code: reply, budget: 0 });
    this.sequence = input.sequence;
    this.covered = tokensOf(input.headJson);
    this.unheard = reply === "unheard" ? input : undefined;
    if (reply === "unheard") return Promise.reject(new StoreUnavailable("not heard"));
    return turn().then(() => ({ code: "extended", isOverflow: false }));
  }
}

function tokensOf(headJson: string): number {
  return (JSON.parse(headJson) as { heldOutputTokens: number }).heldOutputTokens;
}

interface Ran {
  readonly text: string;
  readonly raw: string;
  /** What had come at a moment at which it was not covered. */
  readonly uncovered: readonly string[];
  readonly settled: { readonly outcome: string; readonly usage: { readonly outputTokens: number } }[];
  readonly isCancelled: boolean;
  /** Pieces that the client was behind what had come, at the most. */
  readonly mostBehind: number;
}

async function run(words: readonly string[], store: ScriptedStore): Promise<Ran> {
  const { deps, faults } = world([]);
  const stream = new PacedStream([...words.map((word) => chunk(word, null)), chunk("", "stop"), "data: [DONE]\n\n"]);
  const providers: ProviderClient = {
    send: () =>
      Promise.resolve({
        ...{ status: 200, headers: { "content-type": "text/event-stream" }, body: stream },
        bytes: () => Promise.reject(new Error("it is a stream")),
        destroy: () => undefined,
      }),
  };
  const settled: Ran["settled"] = [];
  const ledger: typeof deps.ledger = {
    ...deps.ledger,
    reserve: (input) => {
      store.reserved(input);
      return deps.ledger.reserve(input);
    },
    extend: (input) => store.extend(input),
    settle: (_open, { resultJson }) => {
      settled.push(JSON.parse(`{"head":0${resultJson}`) as Ran["settled"][number]);
      return Promise.resolve();
    },
  };
  const policies = await withPolicy(deps.policies, POLICY);
  const body = { model: "chat-0-sandbox", messages: [{ role: "user", content: "x" }], stream: true, max_tokens: CAP };
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const answer = await createGatewayCore({ ...deps, providers, ledger, policies })(
    {
      ...{ method: "POST", url: "/v1/chat/completions", bytes: () => Promise.resolve(bytes) },
      headers: { get: (name) => (name === "authorization" ? `Bearer ${SECRET}` : null) },
      chunks: async function* () {
        yield await Promise.resolve(bytes);
      },
      signal: new AbortController().signal,
    },
    { waitUntil: () => undefined },
  );
  const { body: answered } = answer;
  if (!isByteStream(answered)) throw new Error(`no stream: ${String(answer.status)}`);
  let raw = "";
  let mostBehind = 0;
  const uncovered: string[] = [];
  await new Promise<void>((resolve, reject) => {
    answered.start({
      write: (piece) => {
        raw += new TextDecoder().decode(piece);
        const text = textOf(raw);
        mostBehind = Math.max(mostBehind, stream.sent - raw.split("\n\n").length + 1);
        const isCovered = store.covered >= CAP || Buffer.byteLength(text) + MARGIN <= store.covered;
        if (!isCovered) uncovered.push(text);
        return true;
      },
      end: resolve,
      fail: reject,
    });
  });
  for (let left = 0; left < 5; left += 1) await turn();
  expect(faults).toEqual([]);
  return { text: textOf(raw), raw, uncovered, settled, isCancelled: stream.isCancelled, mostBehind };
}

function textOf(raw: string): string {
  return raw
    .split("\n\n")
    .flatMap((event) => (event.startsWith("data: {") ? [JSON.parse(event.slice(6)) as object] : []))
    .map((event) => ("choices" in event ? contentOf(event.choices) : ""))
    .join("");
}

function contentOf(choices: unknown): string {
  const [first] = choices as { delta?: { content?: string } }[];
  return first?.delta?.content ?? "";
}

const REPLIES: readonly Reply[] = [
  ...(["extended", "extended", "extended", "extended", "exhausted", "away", "unheard", "fenced"] as const),
  ...(["frozen", "ended", "stale", "unknown_budget"] as const),
];
const replies = fc.array(fc.constantFrom(...REPLIES), { minLength: 1, maxLength: 8 });
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });

it("passes on nothing that is not held, ends well, and books what was made, once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 60 }), replies, async (words, script) => {
      const { text, raw, uncovered, settled, isCancelled } = await run(words, new ScriptedStore(script));
      const whole = words.join("");
      expect(whole.startsWith(text)).toBe(true);
      // Where the provider has ended by itself nothing more can be spent, and the rest is not kept back.
      if (isCancelled) expect(uncovered).toEqual([]);
      else expect(text).toBe(whole);
      const finish = isCancelled ? "length" : "stop";
      expect(raw.match(/"finish_reason":"\w+"/gu)).toEqual([`"finish_reason":"${finish}"`]);
      expect(raw.endsWith("data: [DONE]\n\n")).toBe(true);
      expect(settled).toHaveLength(1);
      expect(settled[0]?.outcome).toBe(isCancelled ? "shortened" : "ok");
      expect(settled[0]?.usage.outputTokens).toBeGreaterThanOrEqual(Math.ceil(Buffer.byteLength(text) / 4));
    }),
    { numRuns: 500 },
  );
}, 60_000);

it("asks so early that a stream whose store is quick never waits", async () => {
  const words = Array.from({ length: 60 }, () => "word ");
  const { text, uncovered, mostBehind } = await run(words, new ScriptedStore(["extended"]));
  expect([text.length, uncovered, mostBehind]).toEqual([300, [], 0]);
});
