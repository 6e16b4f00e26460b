/** How long a deployment is waited for: for the connection, the first byte, between the parts of an answer, and in all. */
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestOrganisation } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { asking, settled, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import type { Place } from "@/lib/testing/gateway-contract/route-models";
import { addModel, addProvider, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { PRIMARY, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
let silent: Server;
/** Begins every answer and never ends it: says nothing more, or a blank every 20 ms to who asks for `dripping`. */
let endless: Server;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
  // Takes connections and says nothing: TLS never begins.
  silent = createServer(() => undefined);
  endless = createHttpServer((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{");
    request.once("data", (body: Buffer) => {
      if (!body.includes("dripping")) return;
      const timer = setInterval(() => response.write(" "), 20);
      response.once("close", () => {
        clearInterval(timer);
      });
    });
  });
  for (const server of [silent, endless]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  }
}, 120_000);
afterAll(async () => {
  await rig.close();
  silent.close();
  endless.close();
});

function portOf(server: Server): string {
  return String((server.address() as AddressInfo).port);
}

async function companyAt(timeouts: Place["timeouts"], isSilent = false): Promise<TestOrganisation> {
  const made = await host.bench.organisation();
  const slow = isSilent
    ? await addProvider(host, made, "openai", `https://127.0.0.1:${portOf(silent)}/v1`)
    : made.provider.id;
  await addModel(host, made, { ...PRIMARY, upstreamModel: "sandbox-small" }, [
    { providerId: slow, priority: 0, ...(timeouts ? { timeouts } : {}) },
    { providerId: made.provider.id, priority: 1 },
  ]);
  await publish(host, made);
  return made;
}

it("a connection that does not come in time is given up, and the next deployment serves: nothing was sent", async () => {
  const made = await companyAt({ connectTimeoutMs: 150 }, true);
  const begun = performance.now();
  const answer = await rig.ask(made);
  expect(answer.status).toBe(200);
  expect(performance.now() - begun).toBeLessThan(5_000);
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  expect((await rig.booked(made)).map(({ attempt }) => attempt)).toEqual([1]);
});

it("a first byte that does not come in time ends the call: it was sent and may be billed, so nobody else is asked", async () => {
  const made = await companyAt({ firstByteTimeoutMs: 150 });
  const before = await upstreamCalls(host);
  const answer = await rig.ask(made, asking({ fault: "hang" }));
  expect([answer.status, await answer.json()]).toMatchObject([504, { error: { code: "upstream_timeout" } }]);
  expect((await upstreamCalls(host)) - before).toBe(1);
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  expect((await settled(host, made)).settled).toBeGreaterThan(0n);
  expect(await rig.booked(made)).toMatchObject([{ attempt: 0, outcome: "unknown", isEstimated: true }]);
});

it("a stream that falls silent is ended, and what came is booked", async () => {
  const made = await companyAt({ idleTimeoutMs: 150 });
  const answer = await rig.ask(made, { stream: true, ...asking({ chunkDelayMs: 60_000 }) });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('"error"');
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  expect(await rig.booked(made)).toMatchObject([{ outcome: "upstream_error", isEstimated: true }]);
});

/** `primary` at the provider whose answers never end, with nothing beside it. */
async function companyAtEndless(upstreamModel: string, timeouts: Place["timeouts"]): Promise<TestOrganisation> {
  const made = await host.bench.organisation();
  const providerId = await addProvider(host, made, "openai", `http://127.0.0.1:${portOf(endless)}/v1`);
  await addModel(host, made, PRIMARY, [{ providerId, upstreamModel, ...(timeouts ? { timeouts } : {}) }]);
  await publish(host, made);
  return made;
}

it.each([
  ["falls silent", "silent", { idleTimeoutMs: 150 }],
  ["goes on and on", "dripping", { timeoutMs: 500 }],
] as const)(
  "a plain answer that %s ends the call in time: what it may have cost is booked",
  async (_, model, timeouts) => {
    const made = await companyAtEndless(model, timeouts);
    const answer = await rig.ask(made);
    expect([answer.status, await answer.json()]).toMatchObject([504, { error: { code: "upstream_timeout" } }]);
    await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
    expect(await rig.booked(made)).toMatchObject([{ outcome: "unknown", isEstimated: true }]);
    expect((await settled(host, made)).settled).toBeGreaterThan(0n);
  },
);

it("a stream that takes longer than the whole call may is ended with an error event, and what came is booked", async () => {
  const made = await companyAt({ timeoutMs: 600 });
  const begun = performance.now();
  const answer = await rig.ask(made, {
    ...{ stream: true, max_tokens: 2_000 },
    ...asking({ chunkDelayMs: 50, completionTokens: 2_000 }),
  });
  expect(answer.status).toBe(200);
  const events = (await answer.text()).trimEnd().split("\n\n");
  expect(performance.now() - begun).toBeGreaterThan(600);
  expect(events.length).toBeGreaterThan(2);
  const error = events.find((event) => event.includes('"error"')) ?? "";
  expect(JSON.parse(error.slice("data: ".length))).toMatchObject({ error: { code: "upstream_timeout" } });
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  expect(await rig.booked(made)).toMatchObject([{ outcome: "upstream_error", isEstimated: true }]);
  const { settled: paid } = await settled(host, made);
  expect(paid).toBeGreaterThan(0n);
});

it("a call whose time is up before there is a connection was not sent: the next deployment serves it, at no cost of the first", async () => {
  const made = await companyAt({ timeoutMs: 200 }, true);
  const answer = await rig.ask(made);
  expect(answer.status).toBe(200);
  await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  expect((await rig.booked(made)).map(({ attempt }) => attempt)).toEqual([1]);
});
