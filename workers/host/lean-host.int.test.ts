/** Clients that leave at every moment: whatever the host was doing, nothing stays held and the upstream is let go. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestOrganisation } from "@/lib/testing/factories";
import type { TestBench } from "@/lib/testing/running-gateway";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import type { LeanHost } from "./lean-host";
import { startLeanHost } from "./lean-host";

let bench: TestBench;
let host: LeanHost;
beforeAll(async () => {
  bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  host = await startLeanHost({ gateway: await bench.gateway(), host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await host.close(100);
  await bench.close();
});

function call(made: TestOrganisation, body: object): string {
  const text = JSON.stringify({
    model: "sandbox-small",
    messages: [{ role: "user", content: "hi" }],
    ...body,
  });
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${made.apiKey.secret}\r\n` +
    `content-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(text))}\r\n\r\n${text}`
  );
}

/** Sends a call and leaves when `when` resolves or, with a text, when that was seen. */
async function leaveWhen(request: string, when: (() => Promise<unknown>) | string): Promise<void> {
  const socket = connect(host.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(request);
  if (typeof when === "string") {
    await new Promise<void>((resolve) => {
      let seen = "";
      socket.on("data", (chunk: Buffer) => {
        seen += chunk.toString();
        if (seen.includes(when)) resolve();
      });
    });
  } else {
    await when();
  }
  socket.destroy();
}

describe.each(["cut", "drain"] as const)("a client that leaves (%s)", (clientGone) => {
  const counter = (made: TestOrganisation) => bench.counter(made.organisationId, made.budgets.organisation?.id ?? "");
  const slow = { latencyMs: 400, completionTokens: 20, chunkDelayMs: 5 };

  it.each([
    ["a stream before the first byte", { stream: true, sandbox: slow }, undefined],
    ["a stream in the middle", { stream: true, sandbox: slow }, "w3"],
    ["a plain call before its answer", { sandbox: slow }, undefined],
  ])("%s leaves nothing held", async (_name, body, seen) => {
    const made = await bench.organisation({ policy: { clientGone } });
    const isHeld = () => expect.poll(async () => (await counter(made)).held > 0n).toBe(true);
    await leaveWhen(call(made, body), seen ?? isHeld);
    await expect.poll(async () => (await counter(made)).held, { timeout: 5000 }).toBe(0n);
    await bench.book(made.organisationId);
    expect(await bench.ledger(made.organisationId)).toHaveLength(1);
    const calls = (await (await fetch(`${bench.sandbox.url}/calls`)).json()) as { activeCalls: number };
    expect(calls.activeCalls).toBe(0);
  });

  it("at once, before anything was decided, leaves nothing held", async () => {
    const made = await bench.organisation({ policy: { clientGone } });
    const requests = Array.from({ length: 20 }, () => call(made, { stream: true, sandbox: { completionTokens: 5 } }));
    await Promise.all(
      requests.map((request) => leaveWhen(request, () => new Promise((resolve) => setImmediate(resolve)))),
    );
    await expect
      .poll(
        async () => [
          (await counter(made)).held,
          await bench.store.redis.zcard(`sw:{${made.organisationId}}:deadlines`),
        ],
        {
          timeout: 5000,
        },
      )
      .toEqual([0n, 0]);
  });
});

describe("a host that stops", () => {
  it("does not wait for connections on which nothing was asked", async () => {
    const stopping = await startLeanHost({ gateway: await bench.gateway(), host: "127.0.0.1", port: 0 });
    const socket = connect(stopping.port, "127.0.0.1");
    const isClosed = new Promise<void>((resolve) => {
      socket.on("close", () => {
        resolve();
      });
    });
    await new Promise<void>((resolve) => {
      socket.on("connect", resolve);
    });
    // Longer than a test may take: only a host that waits for the connection would need it.
    await stopping.close(3_600_000);
    await isClosed;
  });
});
