/** How long a deployment is waited for: for the connection, the first byte, and between the parts of a stream. */
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
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
  // Takes connections and says nothing: TLS never begins.
  silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
}, 120_000);
afterAll(async () => {
  await rig.close();
  silent.close();
});

async function companyAt(timeouts: Place["timeouts"], isSilent = false): Promise<TestOrganisation> {
  const made = await host.bench.organisation();
  const { port } = silent.address() as AddressInfo;
  const slow = isSilent
    ? await addProvider(host, made, "openai", `https://127.0.0.1:${String(port)}/v1`)
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
