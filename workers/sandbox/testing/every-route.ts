/** One sound request for every route of the sandbox that sells something. */
import type { SandboxControl } from "../control-fields";
import type { Sandbox } from "../server";
import { tagged } from "./client";

export interface RouteSample {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or the fields of a form with one file. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly isForm?: boolean;
  /** Nanos of the call as it stands here. */
  readonly amountNanos: string;
}

const messages = [{ role: "user", content: "Say something." }];
const contents = [{ role: "user", parts: [{ text: "Say something." }] }];
const ANTHROPIC = { "anthropic-version": "2023-06-01" };
const LARGE_NANOS = String(10 * 2_500 + 16 * 10_000);
const CLAUDE_NANOS = String(10 * 1_000 + 16 * 5_000);
const FLASH_NANOS = String(10 * 300 + 16 * 2_500);

function chat(path: string, model: string, amountNanos: string, more: object = {}): RouteSample {
  return { path, body: { model, messages, ...more }, amountNanos };
}

export const EVERY_ROUTE: readonly RouteSample[] = [
  chat("/v1/chat/completions", "sandbox-large", LARGE_NANOS),
  chat("/v1/chat/completions", "sandbox-large", LARGE_NANOS, { stream: true }),
  chat("/openai/deployments/sandbox-large/chat/completions?api-version=2025-04-01", "sandbox-large", LARGE_NANOS),
  chat("/compatible-mode/v1/chat/completions", "sandbox-qwen", String(10 * 400 + 16 * 1_200)),
  chat("/chat/completions", "sandbox-deepseek", String(10 * 150 + 16 * 600), { stream: true }),
  { path: "/v1/embeddings", body: { model: "sandbox-embed", input: "blue water" }, amountNanos: "60" },
  { path: "/v1/responses", body: { model: "sandbox-large", input: "Say something." }, amountNanos: LARGE_NANOS },
  {
    path: "/v1/responses",
    body: { model: "sandbox-large", input: "Say something.", stream: true },
    amountNanos: LARGE_NANOS,
  },
  {
    path: "/v1/completions",
    body: { model: "sandbox-instruct", prompt: "Once", max_tokens: 4 },
    amountNanos: String(1 * 1_500 + 4 * 2_000),
  },
  {
    path: "/v1/images/generations",
    body: { model: "sandbox-image", prompt: "A dot", quality: "low", stream: true },
    amountNanos: String(2 * 5_000 + 272 * 40_000),
  },
  { path: "/v1/images/generations", body: { model: "sandbox-dalle", prompt: "A dot" }, amountNanos: "40000000" },
  {
    path: "/v1/images/edits",
    body: { model: "sandbox-image", prompt: "A dot", quality: "low" },
    isForm: true,
    amountNanos: String(2 * 5_000 + 323 * 10_000 + 272 * 40_000),
  },
  { path: "/v1/images/variations", body: { model: "sandbox-dalle" }, isForm: true, amountNanos: "40000000" },
  { path: "/v1/audio/transcriptions", body: { model: "sandbox-whisper" }, isForm: true, amountNanos: "100000" },
  {
    path: "/v1/audio/transcriptions",
    body: { model: "sandbox-transcribe", stream: "true" },
    isForm: true,
    amountNanos: String(10 * 6_000 + 16 * 10_000),
  },
  { path: "/v1/audio/translations", body: { model: "sandbox-whisper" }, isForm: true, amountNanos: "100000" },
  {
    path: "/v1/audio/speech",
    body: { model: "sandbox-tts", voice: "alloy", input: "Hello" },
    amountNanos: String(5 * 15_000),
  },
  { path: "/v1/moderations", body: { input: "Hello" }, amountNanos: "0" },
  {
    path: "/v1/rerank",
    body: { model: "sandbox-rerank", query: "water", documents: ["blue water"] },
    amountNanos: "2000000",
  },
  { ...chat("/v1/messages", "sandbox-claude-small", CLAUDE_NANOS, { max_tokens: 50 }), headers: ANTHROPIC },
  {
    ...chat("/v1/messages", "sandbox-claude-small", CLAUDE_NANOS, { max_tokens: 50, stream: true }),
    headers: ANTHROPIC,
  },
  { path: "/v1beta/models/sandbox-gemini-flash:generateContent", body: { contents }, amountNanos: FLASH_NANOS },
  {
    path: "/v1beta/models/sandbox-gemini-flash:streamGenerateContent?alt=sse",
    body: { contents },
    amountNanos: FLASH_NANOS,
  },
  chat("/api/chat", "sandbox-llama", "0"),
];

/** Calls a route under a tag. Resolves with status and bytes; rejects where the connection breaks. */
export async function callRoute(
  sandbox: Sandbox,
  sample: RouteSample,
  tag: string,
  control: SandboxControl = {},
): Promise<{ status: number; bytes: Buffer }> {
  const headers = { ...tagged(tag, control).headers, ...sample.headers, authorization: "Bearer sandbox-key-1234" };
  const body = sample.isForm === true ? formOf(sample) : JSON.stringify(sample.body);
  const answer = await fetch(sandbox.url + sample.path, { method: "POST", headers, body, redirect: "manual" });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}

function formOf({ path, body }: RouteSample): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  // A second of audio, or what passes for a picture.
  form.append(path.includes("/images/") ? "image" : "file", new Blob([Buffer.alloc(16_000)]), "upload.bin");
  return form;
}
