/** A provider that says nonsense of what it made is not believed: what came is counted, and marked as an estimate. */
import { describe, expect, it } from "vitest";
import { isByteStream, webStreamOf } from "../byte-stream";
import { createGatewayCore } from "../handler";
import { jsonRequest, world } from "../testing/world";

interface Booked {
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly isEstimated: boolean;
}

const TEXT = "word ".repeat(40);

/** What is booked of one call that the upstream answers with this text. */
async function bookedOf(route: string, body: object, text: string, isEvents: boolean): Promise<Booked> {
  const { deps, faults } = world([{ fails: null, status: 200, isEvents, text, breaksAt: null }]);
  const booked: Booked[] = [];
  const settle: typeof deps.ledger.settle = (_open, { resultJson }) => {
    booked.push(JSON.parse(`{"head":0${resultJson}`) as Booked);
    return Promise.resolve();
  };
  const gateway = createGatewayCore({ ...deps, ledger: { ...deps.ledger, settle } });
  const answer = await gateway(jsonRequest(`/v1/${route}`, body), { waitUntil: () => undefined });
  if (isByteStream(answer.body)) await new Response(webStreamOf(answer.body)).text();
  expect([answer.status, faults, booked.length]).toEqual([200, [], 1]);
  const [only] = booked;
  if (!only) throw new Error("nothing was booked");
  return only;
}

const NONSENSE = [
  { prompt_tokens: 50 },
  { prompt_tokens: 50, completion_tokens: null },
  { prompt_tokens: 50, completion_tokens: 0, total_tokens: 50 },
  { prompt_tokens: 50, completion_tokens: -200 },
  { prompt_tokens: 50, completion_tokens: "200" },
  { prompt_tokens: 50, completion_tokens: 4e15 },
];
const CHAT = { messages: [{ role: "user", content: "hello there" }] };

describe.each([
  ["a plain price", "chat-0-sandbox"],
  ["a rich price", "chat-1-sandbox"],
])("a chat of %s", (_, model) => {
  it.each(NONSENSE)("whole, with %j, is booked at what came", async (usage) => {
    const text = JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: TEXT } }], usage });
    const booked = await bookedOf("chat/completions", { model, ...CHAT }, text, false);
    expect(booked).toMatchObject({ usage: { inputTokens: 50, outputTokens: 50 }, isEstimated: true });
  });

  it.each(NONSENSE)("streamed, with %j, is booked at what came", async (usage) => {
    const events = [
      { id: "a", choices: [{ index: 0, delta: { content: TEXT } }] },
      { id: "a", choices: [], usage },
    ];
    const text = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
    const booked = await bookedOf("chat/completions", { model, stream: true, ...CHAT }, text, true);
    expect(booked).toMatchObject({ usage: { inputTokens: 50, outputTokens: 50 }, isEstimated: true });
  });

  it("is not billed for a prompt that no model can read", async () => {
    const usage = { prompt_tokens: 9e15, completion_tokens: 3, total_tokens: 9e15 };
    const text = JSON.stringify({ choices: [{ message: { content: "hi" } }], usage });
    const { usage: booked, isEstimated } = await bookedOf("chat/completions", { model, ...CHAT }, text, false);
    expect(isEstimated).toBe(true);
    expect(booked.inputTokens).toBeGreaterThan(0);
    expect(booked.inputTokens).toBeLessThan(100);
  });
});

it("a message of Anthropic's without its output is booked at what came", async () => {
  const text = JSON.stringify({
    type: "message",
    content: [{ type: "text", text: TEXT }],
    usage: { input_tokens: 50 },
  });
  const booked = await bookedOf("messages", { model: "chat-0-anthropic", max_tokens: 99, ...CHAT }, text, false);
  expect(booked).toMatchObject({ usage: { inputTokens: 50, outputTokens: 50 }, isEstimated: true });
});

it("an answer without text and its count of none are believed", async () => {
  const usage = { prompt_tokens: 50, completion_tokens: 0, total_tokens: 50 };
  const text = JSON.stringify({ choices: [{ message: { role: "assistant", content: "" } }], usage });
  const booked = await bookedOf("chat/completions", { model: "chat-0-sandbox", ...CHAT }, text, false);
  expect(booked).toMatchObject({ usage: { inputTokens: 50, outputTokens: 0 }, isEstimated: false });
});
