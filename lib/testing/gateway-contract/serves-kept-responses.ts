/** Responses that outlive their call, through the official client: made in the background, read, cancelled, deleted. */
import type OpenAI from "openai";
import { NotFoundError } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BatchWorker } from "../batch-worker";
import { createBatchWorker } from "../batch-worker";
import type { GatewayHost } from "./host";
import { asking, settled, upstreamCalls } from "./host";
import type { RouteCaller } from "./route-caller";
import { routeCallerOf } from "./route-caller";
import { expectBooksAgree } from "./route-models";

const MODEL = "sandbox-large";
const USE = { promptTokens: 100, completionTokens: 20 };
const COST = 100n * 2_500n + 20n * 10_000n;

export function servesKeptResponses(host: () => GatewayHost): void {
  let caller: RouteCaller;
  let client: OpenAI;
  let worker: BatchWorker;
  beforeAll(async () => {
    caller = await routeCallerOf(host());
    client = caller.openai;
    worker = createBatchWorker(host().bench);
  });
  afterAll(() => worker.close());
  const start = (control: object) =>
    client.responses.create({ model: MODEL, input: "think", background: true, ...asking({ ...USE, ...control }) });

  it("made in the background: held, polled, read, paid once, deleted", async () => {
    const before = (await settled(host(), caller.made)).settled;
    const made = await start({ polls: 1 });
    const requestId = caller.requestId();
    expect([made.status, made.background]).toEqual(["queued", true]);
    expect((await settled(host(), caller.made)).held).toBeGreaterThan(COST);
    expect((await client.responses.retrieve(made.id)).status).toBe("in_progress");
    await worker.untilEnded(caller.made.organisationId);
    const done = await client.responses.retrieve(made.id, { include: ["message.output_text.logprobs"] });
    expect([done.status, done.output_text.startsWith("w0 w1")]).toEqual(["completed", true]);
    expect(await expectBooksAgree(host(), caller.made, requestId)).toBe(COST);
    expect(await settled(host(), caller.made)).toEqual({ settled: before + COST, held: 0n });
    const items: unknown[] = [];
    for await (const item of client.responses.inputItems.list(made.id)) items.push(item);
    expect(items).toMatchObject([{ role: "user", content: "think" }]);
    await client.responses.delete(made.id);
    await expect(client.responses.retrieve(made.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("cancelled in the middle: ended at the provider, and nothing stays held", async () => {
    const made = await start({ polls: 50 });
    expect((await client.responses.cancel(made.id)).status).toBe("cancelled");
    await worker.untilEnded(caller.made.organisationId);
    expect((await settled(host(), caller.made)).held).toBe(0n);
  });

  it("kept of an ordinary call: read and deleted by its own application, and by nobody else", async () => {
    const made = await client.responses.create({ model: MODEL, input: "hi", ...asking(USE) });
    expect((await client.responses.retrieve(made.id)).output_text).toBe(made.output_text);
    const stranger = (await routeCallerOf(host())).openai;
    const before = await upstreamCalls(host());
    await expect(stranger.responses.retrieve(made.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(stranger.responses.delete(made.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(stranger.responses.cancel(made.id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await upstreamCalls(host())).toBe(before);
    await client.responses.delete(made.id);
    await expect(client.responses.retrieve(made.id)).rejects.toBeInstanceOf(NotFoundError);
  });
}
