/** Nobody follows a redirect with a caller's prompt: what a provider answers with one is not served, and not paid for. */
import { expect, it } from "vitest";
import { createGatewayCore } from "./handler";
import { jsonRequest, world } from "./testing/world";

it.each([301, 302, 307, 308])("an answer of %i is the provider's trouble and costs nothing", async (status) => {
  const text = "<html>moved</html>";
  const { deps, faults } = world([{ fails: null, status, isEvents: false, text, breaksAt: null }]);
  const ends: string[] = [];
  const ledger: typeof deps.ledger = {
    ...deps.ledger,
    settle: (_open, { cost }) => {
      ends.push(cost);
      return Promise.resolve();
    },
    void: () => {
      ends.push("void");
      return Promise.resolve();
    },
  };
  const body = { model: "chat-0-sandbox", messages: [{ role: "user", content: "hello" }] };
  const answer = await createGatewayCore({ ...deps, ledger })(jsonRequest("/v1/chat/completions", body), {
    waitUntil: () => undefined,
  });
  expect([answer.status, faults]).toEqual([502, []]);
  expect(ends.length).toBeGreaterThan(0);
  expect(ends.every((end) => end === "void" || end === "0")).toBe(true);
});
