import { expect, it } from "vitest";
import { createGatewayCore } from "../handler";
import type { GatewayAnswer } from "../http";
import { isByteStream, webStreamOf } from "../byte-stream";
import type { AnswerOwners, KeptAnswerOwner } from "../ports";
import { jsonRequest, world } from "../testing/world";
import { containersNamed } from "./containers";

const OWN = "container_own";
const OTHERS = "container_of_others";
// Filters what it found by code, in a container.
const TOOLS = [{ type: "web_search_20260209", name: "web_search" }];
const BODY = { model: "chat-1-anthropic", max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
const USAGE = { input_tokens: 5, output_tokens: 3 };
const CONTAINER = { id: OWN, expires_at: "2026-12-01T00:00:00Z" };

it.each([
  ["by its id", { container: "c" }],
  ["with skills", { container: { id: "c", skills: [] } }],
  ["of a tool", { tools: [{ type: "code_interpreter", container: "c" }] }],
  ["of a shell", { tools: [{ type: "shell", environment: { type: "container_reference", container_id: "c" } }] }],
])("a container is named %s", (_name, body) => {
  expect(containersNamed(body)).toEqual(["c"]);
});

it.each([
  ["a new one", { container: { skills: [] } }],
  ["none", { container: null }],
  ["a new one of a tool", { tools: [{ type: "code_interpreter", container: { type: "auto" } }] }],
  ["what a tool was asked for", { messages: [{ content: [{ type: "tool_use", input: { container: "c" } }] }] }],
])("%s names none", (_name, body) => {
  expect(containersNamed(body)).toEqual([]);
});

function owners(): AnswerOwners {
  const known = new Map<string, KeptAnswerOwner>();
  return {
    note: (_organisationId, ids, owner) => {
      for (const id of ids) if (!known.has(id)) known.set(id, owner);
      return Promise.resolve();
    },
    find: (_organisationId, ids) => Promise.resolve(ids.map((id) => known.get(id))),
  };
}

function events(list: readonly { readonly type: string }[]): string {
  return list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "text", text: "hi" }] };
const ANSWERS = {
  whole: {
    isEvents: false,
    text: JSON.stringify({ ...MESSAGE, stop_reason: "end_turn", usage: USAGE, container: CONTAINER }),
  },
  streamed: {
    isEvents: true,
    text: events([
      { type: "message_start", message: { ...MESSAGE, content: [], container: null, usage: USAGE } },
      { type: "message_delta", delta: { stop_reason: "end_turn", container: CONTAINER }, usage: USAGE },
      { type: "message_stop" },
    ] as { type: string }[]),
  },
};

it.each(["whole", "streamed"] as const)(
  "a container is gone on in by whom it was made for, and by nobody else: %s",
  async (kind) => {
    const { deps, faults } = world([{ fails: null, status: 200, breaksAt: null, ...ANSWERS[kind] }]);
    let sent = 0;
    const providers: typeof deps.providers = {
      send: (request) => {
        sent += 1;
        return deps.providers.send(request);
      },
    };
    const answerOwners = owners();
    const stranger = { appId: "other", environment: "production", providerId: "anthropic" } as const;
    await answerOwners.note("t0123456789a", [OTHERS], stranger);
    const core = createGatewayCore({ ...deps, providers, answerOwners });
    const ask = async (body: object): Promise<GatewayAnswer> => {
      const sentBody = { ...BODY, stream: kind === "streamed", ...body };
      const answer = await core(jsonRequest("/v1/messages", sentBody), { waitUntil: () => undefined });
      if (isByteStream(answer.body)) await new Response(webStreamOf(answer.body)).text();
      return answer;
    };
    const before = await ask({ container: OWN, tools: TOOLS });
    expect([before.status, sent]).toEqual([400, 0]);
    expect(before.body).toContain("no such container is kept");
    expect((await ask({ tools: TOOLS })).status).toBe(200);
    expect((await ask({ container: OWN, tools: TOOLS })).status).toBe(200);
    expect((await ask({ container: { id: OWN }, tools: TOOLS })).status).toBe(200);
    expect((await ask({ container: OTHERS, tools: TOOLS })).status).toBe(400);
    expect([sent, faults]).toEqual([3, []]);
  },
);
