/** A price that stops covering the call while it runs: the reservation ends all the same. */
import { expect, it } from "vitest";
import { createGatewayCore } from "./handler";
import { MODELS, jsonRequest, world } from "./testing/world";

const MODEL = "chat-0-sandbox";

it("a call that no price covers any more ends at its hold, as unknown", async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
  const text = JSON.stringify({ id: "x", choices: [{ index: 0, message: { content: "hi" } }], usage });
  const { deps, faults } = world([{ fails: null, status: 200, isEvents: false, text, breaksAt: null }]);
  const held: string[] = [];
  const ends: { readonly cost: string; readonly priceAmount: string; readonly outcome: string }[] = [];
  const ledger: typeof deps.ledger = {
    ...deps.ledger,
    reserve: (input) => {
      const price = MODELS.find(({ name }) => name === MODEL)?.prices[0];
      Object.assign(price ?? {}, { rates: { outputPerToken: "0.00001" } });
      const [amounts] = input.plans;
      if (amounts !== undefined && amounts !== "denied") held.push(amounts[0] ?? "");
      return deps.ledger.reserve(input);
    },
    settle: (_open, { cost, priceAmount, resultJson }) => {
      const { outcome } = JSON.parse(`{"head":0${resultJson}`) as { outcome: string };
      ends.push({ cost, priceAmount, outcome });
      return Promise.resolve();
    },
  };
  const body = { model: MODEL, messages: [{ role: "user", content: "hello" }] };
  const pending: Promise<unknown>[] = [];
  const answer = await createGatewayCore({ ...deps, ledger })(jsonRequest("/v1/chat/completions", body), {
    waitUntil: (promise) => pending.push(promise.catch(() => undefined)),
  });
  await Promise.all(pending);
  expect(held).toHaveLength(1);
  expect(Number(held[0])).toBeGreaterThan(0);
  expect(ends).toEqual([{ cost: held[0], priceAmount: held[0], outcome: "unknown" }]);
  expect([answer.status, faults]).toEqual([200, []]);
});
