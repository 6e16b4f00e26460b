/** What callers and books see of a provider's errors, in whatever clothes they come. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { asking, settled, USER } from "@/lib/testing/gateway-contract/host";
import { clientsOf } from "@/lib/testing/gateway-contract/route-caller";
import { addModel, addProvider, CLAUDE, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { served, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

const NOTHING = { settled: 0n, held: 0n };
const BILLING = /billing|quota|credit|balance|余额|欠费/iu;

describe("an error behind status 200", () => {
  it.each([
    ["of a rate", { error_code: 18, error_msg: "Open api qps request limit reached" }],
    ["of an account", { code: "Arrearage", message: "your account is not in good standing" }],
    ["of a model", { error: { code: "model_not_found", message: "x" } }],
  ])("%s is tried elsewhere and costs nothing", async (_name, body) => {
    const vendor = "error_code" in body ? "qianfan" : "dashscope";
    const { made } = await rig.company([200, body], { fallbacks: { primary: ["sandbox-small"] } }, { vendor });
    expect(served(await rig.ask(made))).toEqual([200, "sandbox-small", "primary"]);
    await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
    expect(await rig.booked(made)).toMatchObject([{ served: "sandbox-small", outcome: "ok" }]);
  });

  it("of the caller is told as an error", async () => {
    const body = {
      error: { type: "invalid_request_error", code: "invalid_value", message: "max_tokens is too large" },
    };
    const { made } = await rig.company([200, body], {});
    const answer = await rig.ask(made);
    expect([answer.status, await answer.json()]).toMatchObject([400, body]);
    await expect.poll(() => settled(host, made)).toEqual(NOTHING);
  });
});

describe("a provider's billing text", () => {
  it.each([
    [400, { error: { code: "invalid_request", message: "账户余额不足，请充值" } }],
    [404, { error: { code: "not_found", message: "see your billing page" } }],
    [429, { error: { code: "insufficient_quota", message: "You exceeded your current quota" } }],
  ])("is never passed on behind %i", async (status, body) => {
    const { made } = await rig.company([status, body], {});
    const answer = await rig.ask(made);
    expect(answer.status).toBe(502);
    expect(await answer.text()).not.toMatch(BILLING);
    await expect.poll(() => settled(host, made)).toEqual(NOTHING);
  });

  it("is never passed on in the middle of a stream: what came is kept, and the end is in the stream's own shape", async () => {
    const { made } = await rig.company([503, {}], {});
    const anthropic = await addProvider(host, made, "anthropic", host.bench.sandbox.url);
    await addModel(host, made, CLAUDE, [{ providerId: anthropic }]);
    await publish(host, made);
    const control = asking({ fault: "error_in_stream", error: "insufficient_quota", cutAfterChunks: 3 });
    const chat = { model: "sandbox-small", stream: true, stream_options: { include_usage: true }, ...control };
    const text = await (await rig.ask(made, chat)).text();
    expect(text).toContain("w0");
    expect(text).toContain('"code":"upstream_error"');
    expect(text).not.toMatch(BILLING);
    const { openai, anthropic: claude } = clientsOf(host, made);
    const read = async () => {
      for await (const event of await openai.responses.create({
        ...{ model: "sandbox-small", input: "hi", stream: true as const, ...control },
      }))
        expect(JSON.stringify(event)).not.toMatch(BILLING);
    };
    await read().catch((error: unknown) => {
      expect(String(error)).not.toMatch(BILLING);
    });
    const messages = claude.messages.stream({
      ...{ model: CLAUDE.name, max_tokens: 8, messages: USER, ...control },
    });
    const error: unknown = await messages.finalMessage().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toMatch(BILLING);
    await expect.poll(async () => (await settled(host, made)).held).toBe(0n);
  });
});
