/** Streams. Each test names the public thread in which money leaked elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BugRig } from "@/lib/testing/public-bugs";
import { startBugRig } from "@/lib/testing/public-bugs";

let rig: BugRig;
beforeAll(async () => {
  rig = await startBugRig();
});
afterAll(() => rig.bench.close());

describe("streams", () => {
  const prompt = "x".repeat(48); // 12 tokens at four bytes each, and 6 of framing: 18
  const stream = { completionTokens: 100, promptTokens: 18, chunkDelayMs: 2 };

  /** Calls the provider works on. */
  async function activeUpstream(): Promise<number> {
    const calls = (await (await fetch(`${rig.bench.sandbox.url}/calls`)).json()) as { activeCalls: number };
    return calls.activeCalls;
  }

  async function readSome(response: Response, chunks: number): Promise<void> {
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let seen = 0;
    while (reader && seen < chunks) {
      const { value, done } = await reader.read();
      if (done) break;
      seen += decoder.decode(value).match(/"content":" ?w/gu)?.length ?? 0;
    }
    await reader?.cancel();
  }

  it("litellm#14457: a client that hangs up pays for what was produced, and the upstream is closed", async () => {
    const made = await rig.bench.organisation({ policy: { clientGone: "cut" } });
    const before = await activeUpstream();
    await readSome(await rig.chat(made, { content: prompt, control: stream, body: { stream: true } }), 40);
    await expect.poll(async () => (await rig.counter(made)).held).toBe(0n);
    await rig.bench.book(made.organisationId);
    const [entry] = await rig.bench.ledger(made.organisationId);
    expect(entry).toMatchObject({ outcome: "aborted", isEstimated: true, usage: { inputTokens: 18 } });
    // What was read of the upstream, at least the 40 chunks the client saw and nothing near the whole.
    expect(entry?.usage.outputTokens).toBeGreaterThanOrEqual(40);
    expect(entry?.usage.outputTokens).toBeLessThan(60);
    await expect.poll(activeUpstream).toBe(before);
  });

  it("litellm#33736: a policy that drains learns the exact usage", async () => {
    const made = await rig.bench.organisation({ policy: { clientGone: "drain" } });
    await readSome(await rig.chat(made, { content: prompt, control: stream, body: { stream: true } }), 40);
    await expect.poll(async () => (await rig.counter(made)).held, { timeout: 5000 }).toBe(0n);
    await rig.bench.book(made.organisationId);
    expect(await rig.bench.ledger(made.organisationId)).toMatchObject([
      {
        outcome: "aborted",
        isEstimated: false,
        usage: { inputTokens: 18, outputTokens: 100 },
        amount: 18n * 2500n + 100n * 10_000n,
      },
    ]);
  });

  it("new-api#5288: an error inside a stream is no output", async () => {
    const made = await rig.bench.organisation();
    const response = await rig.chat(made, {
      control: { fault: "error_in_stream", cutAfterChunks: 0, errorMessage: "x".repeat(4000) },
      body: { stream: true },
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"error"');
    await expect.poll(() => rig.counter(made)).toEqual({ settled: 0n, held: 0n });
  });

  it("litellm#6633: calls are told apart by our own ids, not by the provider's", async () => {
    const made = await rig.bench.organisation();
    const calls = Array.from({ length: 20 }, () =>
      rig
        .chat(made, { control: { fault: "empty_id_usage" }, body: { stream: true, model: "sandbox-small" } })
        .then((response) => response.text()),
    );
    await Promise.all(calls);
    await expect.poll(async () => (await rig.counter(made)).held).toBe(0n);
    await rig.bench.book(made.organisationId);
    const entries = await rig.bench.ledger(made.organisationId);
    expect(new Set(entries.map((entry) => entry.requestId)).size).toBe(20);
  });
});
