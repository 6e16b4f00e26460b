/** Answers that a provider keeps in one account for all of a company's applications. */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConsumer } from "@/lib/control/consumers";
import type { TestOrganisation } from "@/lib/testing/factories";
import { createTestKey, testPrincipal } from "@/lib/testing/factories";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { lastUpstream, upstreamCalls } from "@/lib/testing/gateway-contract/host";
import { addModel, addProvider, publish } from "@/lib/testing/gateway-contract/route-models";
import type { RoutingRig } from "@/lib/testing/routing-rig";
import { PRIMARY, startRoutingRig } from "@/lib/testing/routing-rig";

let rig: RoutingRig;
let host: GatewayHost;
beforeAll(async () => {
  rig = await startRoutingRig();
  ({ host } = rig);
}, 120_000);
afterAll(() => rig.close());

const MODEL = "sandbox-small";

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ baseURL: host.baseURL, apiKey, fetch: host.fetch, maxRetries: 0 });
}

/** Another application of the company, and one of another company at the same account. */
async function strangersOf(made: TestOrganisation): Promise<OpenAI[]> {
  const { organisationId, consumers } = made;
  const control = host.bench.control;
  const { consumer } = await createConsumer(control, testPrincipal, {
    ...{ organisationId, parentId: consumers.team, kind: "app" as const, name: "another app" },
  });
  const { secret } = await createTestKey(control, organisationId, consumer.id);
  const tested = await createTestKey(control, organisationId, consumers.app, { environment: "test" });
  const other = await host.bench.organisation();
  return [secret, tested.secret, other.apiKey.secret].map(clientOf);
}

async function refused(call: () => Promise<unknown>): Promise<unknown> {
  const before = await upstreamCalls(host);
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect((await upstreamCalls(host)) - before).toBe(0);
  return error;
}

async function streamed(client: OpenAI, body: object): Promise<{ id: string; itemIds: string[] }> {
  let id = "";
  const itemIds: string[] = [];
  for await (const event of await client.responses.create({ model: MODEL, input: "hi", ...body, stream: true })) {
    if (event.type === "response.created") ({ id } = event.response);
    if (event.type === "response.output_item.done") itemIds.push(event.item.id ?? "");
  }
  return { id, itemIds };
}

describe("an answer that the provider keeps", () => {
  it("is continued by its own application, whole or streamed", async () => {
    const made = await host.bench.organisation();
    const client = clientOf(made.apiKey.secret);
    const first = await client.responses.create({ model: MODEL, input: "hi" });
    const second = await streamed(client, { previous_response_id: first.id });
    const third = await client.responses.create({ model: MODEL, input: "hi", previous_response_id: second.id });
    expect(third.previous_response_id).toBe(second.id);
    const [itemId = ""] = second.itemIds;
    const input = [
      { type: "item_reference" as const, id: itemId },
      { role: "user" as const, content: "and?" },
    ];
    await client.responses.create({ model: MODEL, input }).catch((error: unknown) => {
      // Whether it knows the item is the provider's to say.
      expect(error).toMatchObject({ status: 404 });
    });
    expect((await lastUpstream(host)).body).toContain(itemId);
  });

  it("does not exist for another application, a test key or another company, and nobody is asked", async () => {
    const made = await host.bench.organisation();
    const client = clientOf(made.apiKey.secret);
    const whole = await client.responses.create({ model: MODEL, input: "my secret" });
    const { id, itemIds } = await streamed(client, {});
    const unknown = { status: 400, param: "previous_response_id", code: "invalid_request" };
    for (const stranger of await strangersOf(made)) {
      for (const previous of [whole.id, id, "resp_nobody"]) {
        const call = () => stranger.responses.create({ model: MODEL, input: "go on", previous_response_id: previous });
        expect(await refused(call)).toMatchObject(unknown);
      }
      for (const item of [{ type: "item_reference" as const, id: itemIds[0] ?? "" }, { id: itemIds[0] ?? "" }]) {
        const call = () => stranger.responses.create({ model: MODEL, input: [item] });
        expect(await refused(call)).toMatchObject({ status: 400, param: "input" });
      }
    }
  });

  it("is nobody's where the provider was told not to keep it, and conversations are not served", async () => {
    const made = await host.bench.organisation();
    const client = clientOf(made.apiKey.secret);
    const { id } = await client.responses.create({ model: MODEL, input: "hi", store: false });
    const call = () => client.responses.create({ model: MODEL, input: "go on", previous_response_id: id });
    expect(await refused(call)).toMatchObject({ status: 400, param: "previous_response_id" });
    const other = () => client.responses.create({ model: MODEL, input: "hi", conversation: "conv_1" });
    expect(await refused(other)).toMatchObject({ status: 400, param: "conversation" });
  });

  it("is continued at the account that keeps it, and nowhere else", async () => {
    const made = await host.bench.organisation();
    const second = await addProvider(host, made, "openai", `${host.bench.sandbox.url}/v1`);
    await addModel(host, made, { ...PRIMARY, upstreamModel: MODEL }, [
      { providerId: made.provider.id, priority: 0, weight: 1 },
      { providerId: second, priority: 0, weight: 1 },
    ]);
    await addModel(host, made, { ...PRIMARY, name: "elsewhere", upstreamModel: MODEL }, [{ providerId: second }]);
    await publish(host, made);
    const client = clientOf(made.apiKey.secret);
    const { id } = await client.responses.create({ model: MODEL, input: "hi" });
    for (let turn = 0; turn < 8; turn += 1) {
      await client.responses.create({ model: "primary", input: "go on", previous_response_id: id });
    }
    const providers = (await rig.booked(made)).map(({ provider }) => provider);
    expect(providers).toEqual(providers.map(() => made.provider.id));
    expect(providers).toHaveLength(9);
    const call = () => client.responses.create({ model: "elsewhere", input: "go on", previous_response_id: id });
    expect(await refused(call)).toMatchObject({ status: 400 });
  });
});
