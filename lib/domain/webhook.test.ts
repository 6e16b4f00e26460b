import { expect, it } from "vitest";
import { deferredCallEvent, isHostAmong } from "./webhook";

it("takes a host by its whole name, and names below one only where that is said", () => {
  expect(isHostAmong(["hooks.example.com"], "Hooks.Example.com")).toBe(true);
  expect(isHostAmong(["hooks.example.com"], "evil-hooks.example.com")).toBe(false);
  expect(isHostAmong(["hooks.example.com"], "a.hooks.example.com")).toBe(false);
  expect(isHostAmong(["*.example.com"], "a.b.example.com")).toBe(true);
  expect(isHostAmong(["*.example.com"], "example.com")).toBe(false);
  expect(isHostAmong(["*.example.com"], "evilexample.com")).toBe(false);
  expect(isHostAmong([], "example.com")).toBe(false);
});

it("tells the end of a deferred call by an id that every attempt shares, without any text of the call", () => {
  const id = "dfr_01hqkz5m8e0000000000000000";
  const key = { apiKeyId: "key_1", appId: "con_1", environment: "production" } as const;
  const facts = { id, ...key, createdMs: 1_000_999, deadlineMs: 9_000_000, keepSeconds: 60 };
  const end = { state: "done" as const, code: null, endedMs: 2_000_500, requestId: "req_1", status: 200 };
  expect(deferredCallEvent("https://hooks.example.com/x", facts, end)).toEqual({
    id: "whk_01hqkz5m8e0000000000000000",
    url: "https://hooks.example.com/x",
    payload: {
      type: "deferred_call.done",
      timestamp: "1970-01-01T00:33:20.500Z",
      data: {
        id,
        object: "deferred_call",
        status: "done",
        code: null,
        created_at: 1000,
        ended_at: 2000,
        request_id: "req_1",
        answer_status: 200,
      },
    },
  });
});
