/** A client that leaves pays for what it had made: also for what is made unseen, and for what nobody saw the end of. */
import { describe, expect, it } from "vitest";
import type { ByteSink, ByteStream } from "./byte-stream";
import { isByteStream } from "./byte-stream";
import { createGatewayCore } from "./handler";
import type { GatewayDeps } from "./handler";
import type { UpstreamRequest } from "./ports";
import { UpstreamFailure } from "./ports";
import { jsonRequest, world } from "./testing/world";

interface Booked {
  readonly usage: { readonly outputTokens: number };
  readonly isEstimated: boolean;
  readonly outcome: string;
}

interface Scene {
  readonly booked: readonly Booked[];
  readonly leave: () => void;
  /** The stream of the upstream, in the test's hands. */
  readonly write: (event: object | "[DONE]") => void;
  readonly end: () => void;
  readonly isCancelled: () => boolean;
  /** Usage that is kept for whoever finds the call when this process is dead. */
  readonly carried: readonly unknown[];
  /** Settles with the body that the client reads. */
  readonly answer: Promise<ByteStream>;
}

const CAP = 500;

/** A stream of this model under way. */
function stream(model: string): Scene {
  const { deps } = world([]);
  const booked: Booked[] = [];
  let sink: ByteSink | undefined;
  let isCancelled = false;
  const body: ByteStream = {
    start: (client) => (sink = client),
    resume: () => undefined,
    cancel: () => (isCancelled = true),
  };
  const send = () =>
    Promise.resolve({
      ...{ status: 200, headers: { "content-type": "text/event-stream" }, body },
      bytes: () => Promise.reject(new Error("it is a stream")),
    });
  const client = new AbortController();
  const carried: unknown[] = [];
  const { ledger } = recording(deps, booked);
  const progress: typeof ledger.progress = (_open, usage) => carried.push(usage);
  let nowMs = deps.clock.nowMs();
  // Every look at the clock is a second later.
  const clock = { nowMs: () => (nowMs += 1_000) };
  const answer = call(model, client.signal, { ...deps, ledger: { ...ledger, progress }, providers: { send }, clock });
  return {
    booked,
    carried,
    answer: answer.then((result) => {
      if (!isByteStream(result.body)) throw new Error("it is no stream");
      return result.body;
    }),
    leave: () => {
      client.abort();
    },
    write: (event) =>
      sink?.write(new TextEncoder().encode(`data: ${event === "[DONE]" ? event : JSON.stringify(event)}\n\n`)),
    end: () => sink?.end(),
    isCancelled: () => isCancelled,
  };
}

function recording({ ledger }: GatewayDeps, booked: Booked[]): Pick<GatewayDeps, "ledger"> {
  const settle: typeof ledger.settle = (_open, { resultJson }) => {
    booked.push(JSON.parse(`{"head":0${resultJson}`) as Booked);
    return Promise.resolve();
  };
  return { ledger: { ...ledger, settle } };
}

function call(model: string, signal: AbortSignal, deps: GatewayDeps) {
  const body = { model, stream: true, max_tokens: CAP, messages: [{ role: "user", content: "think" }] };
  return createGatewayCore(deps)(jsonRequest("/v1/chat/completions", body, signal), { waitUntil: () => undefined });
}

const NOBODY: ByteSink = { write: () => true, end: () => undefined, fail: () => undefined };
/** Under a name that says nothing, as Azure and new models of OpenAI have them, anything may be thought. */
const UNSEEN = "chat-0-openai";
const SEEN = "chat-0-sandbox";

describe("leaving a stream before its first word", () => {
  it("does not make the thoughts free that came before: their number is waited for", async () => {
    const scene = stream(UNSEEN);
    const body = await scene.answer;
    body.start(NOBODY);
    scene.write({ id: "a", choices: [{ index: 0, delta: { role: "assistant", content: "" } }] });
    scene.leave();
    body.cancel();
    expect([scene.isCancelled(), scene.booked]).toEqual([false, []]);
    scene.write({ id: "a", choices: [], usage: { prompt_tokens: 9, completion_tokens: 450 } });
    scene.write("[DONE]");
    scene.end();
    expect(scene.booked).toMatchObject([{ usage: { outputTokens: 450 }, isEstimated: false, outcome: "aborted" }]);
  });

  it("breaks it off where all that is made is seen, and bills what came", async () => {
    const scene = stream(SEEN);
    const body = await scene.answer;
    body.start(NOBODY);
    for (const content of ["one", " two"]) scene.write({ id: "a", choices: [{ index: 0, delta: { content } }] });
    scene.leave();
    body.cancel();
    expect(scene.isCancelled()).toBe(true);
    expect(scene.booked).toMatchObject([{ usage: { outputTokens: 2 }, isEstimated: true, outcome: "aborted" }]);
  });
});

describe("leaving before anything has come", () => {
  /** The upstream fails after the client has left. */
  async function failing(model: string): Promise<{ booked: readonly Booked[]; isAborted: boolean }> {
    const { deps } = world([]);
    const booked: Booked[] = [];
    const client = new AbortController();
    let isAborted = false;
    const send = ({ signal }: UpstreamRequest) => {
      client.abort();
      isAborted = signal?.aborted === true;
      return Promise.reject(new UpstreamFailure("unknown", isAborted ? "aborted" : "timeout"));
    };
    await call(model, client.signal, { ...deps, ...recording(deps, booked), providers: { send } });
    return { booked, isAborted };
  }

  it("is booked as any call whose end nobody saw, unless we broke it off ourselves", async () => {
    const unseen = await failing(UNSEEN);
    expect(unseen.isAborted).toBe(false);
    expect(unseen.booked).toMatchObject([{ usage: { outputTokens: CAP }, outcome: "unknown" }]);
    const seen = await failing(SEEN);
    expect(seen.isAborted).toBe(true);
    expect(seen.booked).toMatchObject([{ usage: { outputTokens: 0 }, outcome: "aborted" }]);
  });
});

it("what a stream has used so far is told only where it is all that it has used", async () => {
  const told: unknown[] = [];
  for (const model of [UNSEEN, SEEN]) {
    const scene = stream(model);
    (await scene.answer).start(NOBODY);
    scene.write({ id: "a", choices: [{ index: 0, delta: { content: "one" } }] });
    told.push(scene.carried.length);
  }
  expect(told).toEqual([0, 1]);
});
