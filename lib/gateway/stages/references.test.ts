import { expect, it } from "vitest";
import { filesNamed } from "./references";

const named = (body: Record<string, unknown>) => filesNamed(JSON.stringify(body), body);
const said = (content: object) => ({ messages: [{ role: "user", content: [content] }] });

it.each([
  ["a document of a chat", said({ type: "file", file: { file_id: "f" } })],
  ["a document of a response", { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }],
  ["a picture", { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }],
  ["a picture to edit", { images: [{ file_id: "f" }] }],
  ["files of a tool", { tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["f"] } }] }],
  ["a document for Claude", said({ type: "document", source: { type: "file", file_id: "f" } })],
  ["what a tool gave back", said({ type: "tool_result", content: [{ type: "image", source: { file_id: "f" } }] })],
])("%s is a file that a body names", (_name, body) => {
  expect(named(body)).toEqual(["f"]);
});

it.each([
  ["metadata", { metadata: { file_id: "f" } }],
  ["what a tool may be asked for", { tools: [{ function: { parameters: { properties: { file_id: "f" } } } }] }],
  ["what a tool was asked for", said({ type: "tool_use", name: "open", input: { file_id: "f" } })],
  ["a text", said({ type: "text", text: '{"file_id":"f"}' })],
])("%s names none", (_name, body) => {
  expect(named(body)).toEqual([]);
});

it("a name that is written with escapes is read as the provider reads it", () => {
  const text = String.raw`{"input":[{"content":[{"\u0066ile_id":"f"}]}]}`;
  expect(filesNamed(text, JSON.parse(text) as Record<string, unknown>)).toEqual(["f"]);
});
