/** A store that says more is known than this process has, and cannot be asked what. */
import { expect, it } from "vitest";
import { createGatewayCore } from "./handler";
import { StoreUnavailable } from "./ports";
import { jsonRequest, world } from "./testing/world";

const BODY = { model: "chat-0-sandbox", messages: [{ role: "user", content: "hello" }] };

/** The status of a call whose first `stale` holds are answered so, and how often the store was asked what is new. */
async function callWith(stale: number): Promise<{ readonly status: number; readonly asked: number }> {
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
  const text = JSON.stringify({ id: "x", choices: [{ index: 0, message: { content: "hi" } }], usage });
  const { deps } = world([{ fails: null, status: 200, isEvents: false, text, breaksAt: null }]);
  let [reserves, asked] = [0, 0];
  const answer = await createGatewayCore({
    ...deps,
    ledger: {
      ...deps.ledger,
      reserve: (input) => (++reserves > stale ? deps.ledger.reserve(input) : Promise.resolve({ code: "stale" })),
    },
    policies: {
      ...deps.policies,
      catchUp: () => {
        asked += 1;
        return Promise.reject(new StoreUnavailable("gone in between"));
      },
    },
  })(jsonRequest("/v1/chat/completions", BODY), { waitUntil: () => undefined });
  return { status: answer.status, asked };
}

it("holds by what is known where what is new cannot be asked for once, and refuses where it cannot again", async () => {
  expect(await callWith(1)).toEqual({ status: 200, asked: 1 });
  expect(await callWith(2)).toEqual({ status: 503, asked: 2 });
});
