import { expect, it } from "vitest";
import { storedPath } from "./stored-path";

it.each([
  ["files", { kind: "file", id: null, tail: null }],
  ["files/file-Ab_1.x", { kind: "file", id: "file-Ab_1.x", tail: null }],
  ["files/file-1/content", { kind: "file", id: "file-1", tail: "content" }],
  ["batches", { kind: "batch", id: null, tail: null }],
  ["batches/batch_1", { kind: "batch", id: "batch_1", tail: null }],
  ["batches/batch_1/cancel", { kind: "batch", id: "batch_1", tail: "cancel" }],
  ["responses/resp_1", { kind: "response", id: "resp_1", tail: null }],
  ["responses/resp_1/cancel", { kind: "response", id: "resp_1", tail: "cancel" }],
  ["responses/resp_1/input_items", { kind: "response", id: "resp_1", tail: "input_items" }],
])("%s names what is stored", (path, found) => {
  expect(storedPath(path, "GET")).toEqual(found);
});

it.each([
  "files/",
  "files/a/cancel",
  "batches/a/content",
  "files/a/b/c",
  "files/..",
  "files/%2e%2e",
  "file",
  "responses",
  "responses/a/content",
  "uploads",
])("%s names nothing", (path) => {
  expect(storedPath(path, "GET")).toBeUndefined();
});

it("what is posted beside responses is a call of its own, but for what is done with one", () => {
  expect(storedPath("responses/input_tokens", "POST")).toBeUndefined();
  expect(storedPath("responses/resp_1/cancel", "POST")).toEqual({ kind: "response", id: "resp_1", tail: "cancel" });
});
