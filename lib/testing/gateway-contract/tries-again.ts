/** Attempts: other deployments, breakers, one fact in the ledger for each attempt that cost, no secret in any error. */
import { expect, it } from "vitest";
import { freePort } from "@/lib/services/free-port";
import type { TestOrganisation } from "../factories";
import type { GatewayHost } from "./host";
import { asking, lastUpstream, post, raw, settled, upstreamCalls, USER } from "./host";
import { clientsOf } from "./route-caller";
import type { Place } from "./route-models";
import { addModel, addProvider, expectBooksAgree, publish } from "./route-models";

const RATES = { inputPerToken: "0.00000015", cacheReadPerToken: "0.000000075", outputPerToken: "0.0000006" };
const MODEL = "two-places";

async function withPlaces(host: GatewayHost, places: (made: { providerId: string }) => readonly Place[]) {
  const made = await host.bench.organisation();
  const model = { name: MODEL, kind: "chat", rates: RATES, upstreamModel: "sandbox-small" };
  await addModel(host, made, model, places({ providerId: made.provider.id }));
  await publish(host, made);
  return clientsOf(host, made);
}

/** Where nobody listens. */
async function nowhere(host: GatewayHost, made: TestOrganisation): Promise<string> {
  return addProvider(host, made, "openai", `http://127.0.0.1:${String(await freePort())}/v1`);
}

export function triesAgain(host: () => GatewayHost): void {
  it("goes to the next deployment where nobody listens at the first; one fact, one bill", async () => {
    const made = await host().bench.organisation();
    const dead = await nowhere(host(), made);
    await addModel(host(), made, { name: MODEL, kind: "chat", rates: RATES, upstreamModel: "sandbox-small" }, [
      { providerId: dead, priority: 0 },
      { providerId: made.provider.id, priority: 1 },
    ]);
    await publish(host(), made);
    const { openai, requestId, sent } = clientsOf(host(), made);
    for (const stream of [false, true]) {
      if (stream) {
        let text = "";
        for await (const chunk of await openai.chat.completions.create({ model: MODEL, messages: USER, stream })) {
          text += chunk.choices[0]?.delta.content ?? "";
        }
        expect(text).toMatch(/^w0 w1/u);
      } else await openai.chat.completions.create({ model: MODEL, messages: USER });
      await expectBooksAgree(host(), made, requestId());
      expect((await lastUpstream(host())).headers["x-spillway-request"]).toContain(`${requestId()}:1.`);
    }
    expect(sent()).toBe(2);
    await expect.poll(async () => (await settled(host(), made)).held).toBe(0n);
  });

  it("goes to the next deployment where the first does not know the model", async () => {
    const { openai, made, requestId } = await withPlaces(host(), ({ providerId }) => [
      { providerId, upstreamModel: "sandbox-nobody", priority: 0 },
      { providerId, upstreamModel: "sandbox-small", priority: 1 },
    ]);
    expect((await openai.chat.completions.create({ model: MODEL, messages: USER })).model).toBe("sandbox-small");
    await expectBooksAgree(host(), made, requestId());
  });

  it("shares calls by weight within a priority", async () => {
    const { openai } = await withPlaces(host(), ({ providerId }) => [
      { providerId, upstreamModel: "sandbox-small", priority: 0, weight: 1 },
      { providerId, upstreamModel: "sandbox-medium", priority: 0, weight: 1 },
      { providerId, upstreamModel: "sandbox-large", priority: 1, weight: 1 },
    ]);
    const served = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const { model } = await openai.chat.completions.create({ model: MODEL, messages: USER, max_tokens: 1 });
      served.add(model);
    }
    expect([...served].sort()).toEqual(["sandbox-medium", "sandbox-small"]);
  });

  it("an account without money drops out: the next call does not ask it again", async () => {
    const { openai, made } = await withPlaces(host(), ({ providerId }) => [{ providerId }]);
    const broke = { model: MODEL, messages: USER, ...asking({ status: 429, errorCode: "insufficient_quota" }) };
    const error = await openai.chat.completions.create(broke, { maxRetries: 0 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 502, code: "upstream_error" });
    const before = await upstreamCalls(host());
    const next = await raw(
      host(),
      "/chat/completions",
      post(made.apiKey.secret, JSON.stringify({ model: MODEL, messages: USER })),
    );
    expect(next.status).toBe(503);
    expect(Number(next.headers.get("retry-after-ms"))).toBeGreaterThan(0);
    expect(await upstreamCalls(host())).toBe(before);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });

  it("tries a busy provider again, and tells the caller when to come back", async () => {
    const { made } = await withPlaces(host(), ({ providerId }) => [{ providerId }]);
    const before = await upstreamCalls(host());
    const busy = { model: MODEL, messages: USER, ...asking({ status: 503, errorCode: "server_is_overloaded" }) };
    const answer = await raw(host(), "/chat/completions", post(made.apiKey.secret, JSON.stringify(busy)));
    expect(answer.status).toBe(503);
    expect((await upstreamCalls(host())) - before).toBe(3);
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });

  it("a caller's own mistake is not tried again", async () => {
    const { made } = await withPlaces(host(), ({ providerId }) => [
      { providerId },
      { providerId, upstreamModel: "sandbox-medium" },
    ]);
    const before = await upstreamCalls(host());
    const wrong = { model: MODEL, messages: USER, ...asking({ status: 400, errorCode: "context_length_exceeded" }) };
    const answer = await raw(host(), "/chat/completions", post(made.apiKey.secret, JSON.stringify(wrong)));
    expect([answer.status, (await upstreamCalls(host())) - before]).toEqual([400, 1]);
  });

  it("no error of a provider brings the key we sent it", async () => {
    const { made } = await withPlaces(host(), ({ providerId }) => [{ providerId }]);
    for (const status of [400, 404, 422, 500]) {
      const echo = asking({ status, errorMessage: "you sent sandbox-secret-for-tests as your key", errorCode: "bad" });
      for (const stream of [false, true]) {
        const body = JSON.stringify({ model: MODEL, messages: USER, stream, ...echo });
        const text = await (await raw(host(), "/chat/completions", post(made.apiKey.secret, body))).text();
        expect(text).not.toContain("sandbox-secret-for-tests");
      }
    }
  });

  it("tags every call for the provider's bill: who, and on whose cost centre", async () => {
    const { openai, made } = await withPlaces(host(), ({ providerId }) => [{ providerId }]);
    await openai.chat.completions.create({ model: MODEL, messages: USER });
    expect((await lastUpstream(host())).headers).toMatchObject({ "x-consumer-id": made.consumers.app });
  });

  it("a provider in a network that the operator has not opened is never connected to", async () => {
    const made = await host().bench.organisation();
    // The rule of the control plane is another; what is stored is judged again where it is connected to.
    await host().bench.control.db.prisma.provider.update({
      where: { id: made.provider.id },
      data: { baseUrl: "http://169.254.169.254/v1" },
    });
    await publish(host(), made);
    const { openai } = clientsOf(host(), made);
    const error = await openai.chat.completions
      .create({ model: "sandbox-small", messages: USER }, { maxRetries: 0 })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 502, code: "upstream_error" });
    await expect.poll(() => settled(host(), made)).toEqual({ settled: 0n, held: 0n });
  });

  it("a call that only fits when its input is counted is served", async () => {
    // 8,000 letters of prose are 2,000 tokens at the most; by their bytes they would cost 20 million nanos and more.
    const made = await host().bench.organisation({ budgets: { organisation: 8_000_000n } });
    const model = { name: "gpt-4o", kind: "chat", rates: { inputPerToken: "0.0000025", outputPerToken: "0.00001" } };
    await addModel(host(), made, { ...model, upstreamModel: "gpt-4o" }, [{ providerId: made.provider.id }]);
    await publish(host(), made);
    const content = "The quick brown fox jumps over the lazy dog again. ".repeat(160);
    const body = JSON.stringify({ model: "gpt-4o", max_tokens: 10, messages: [{ role: "user", content }] });
    const answer = await raw(host(), "/chat/completions", post(made.apiKey.secret, body));
    // Counted, held and sent: the sandbox does not sell it, which is nobody's budget.
    expect([answer.status, await upstreamSaw(host(), "gpt-4o")]).toEqual([502, true]);
    const dear = JSON.stringify({ model: "gpt-4o", max_tokens: 1000, messages: [{ role: "user", content }] });
    expect((await raw(host(), "/chat/completions", post(made.apiKey.secret, dear))).status).toBe(429);
  });
}

async function upstreamSaw(host: GatewayHost, model: string): Promise<boolean> {
  return (await lastUpstream(host)).body.includes(`"model":"${model}"`);
}
