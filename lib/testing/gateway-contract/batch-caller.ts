/** A caller of files and batches: files of lines, a model that is sold in batches, and what the provider saw and billed. */
import { toFile } from "openai";
import type OpenAI from "openai";
import type { TestOrganisation, TestOrganisationOptions } from "../factories";
import type { GatewayHost } from "./host";
import type { RouteCaller } from "./route-caller";
import { clientsOf } from "./route-caller";
import { addModel, publish } from "./route-models";

export const CHAT = "/v1/chat/completions";
/** The caller's name of the provider's `sandbox-large`, at the sandbox's prices, batches at half of them. */
export const BATCH_MODEL = "report-writer";

export interface Line {
  readonly id: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly url?: string;
  /** What the sandbox is asked for. */
  readonly control?: Readonly<Record<string, unknown>>;
}

export function lineText({ id, body, url = CHAT, control }: Line): string {
  const messages = [{ role: "user", content: "Say something." }];
  const sandbox = control === undefined ? {} : { sandbox: control };
  const asked = { model: BATCH_MODEL, messages, ...sandbox, ...body };
  return JSON.stringify({ custom_id: id, method: "POST", url, body: asked });
}

export async function batchCallerOf(host: GatewayHost, options: TestOrganisationOptions = {}): Promise<RouteCaller> {
  const made = await host.bench.organisation(options);
  await addBatchModel(host, made);
  return clientsOf(host, made);
}

export async function addBatchModel(host: GatewayHost, made: TestOrganisation): Promise<void> {
  await addModel(host, made, {
    ...{ name: BATCH_MODEL, kind: "chat", upstreamModel: "sandbox-large" },
    rates: {
      ...{ inputPerToken: "0.0000025", cacheReadPerToken: "0.00000125", outputPerToken: "0.00001" },
      services: {
        batch: { inputPerToken: "0.00000125", cacheReadPerToken: "0.000000625", outputPerToken: "0.000005" },
      },
    },
  });
  await publish(host, made);
}

export async function upload(client: OpenAI, lines: readonly (Line | string)[]): Promise<OpenAI.FileObject> {
  const text = lines.map((line) => (typeof line === "string" ? line : lineText(line))).join("\n");
  return client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
}

/** What the sandbox is to do with the batch travels in its metadata. */
export async function createBatch(
  client: OpenAI,
  fileId: string,
  control: Readonly<Record<string, unknown>> = {},
): Promise<OpenAI.Batch> {
  const metadata = { sandbox: JSON.stringify(control) };
  return client.batches.create({ input_file_id: fileId, endpoint: CHAT, completion_window: "24h", metadata });
}

export interface OutputLine {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: Readonly<Record<string, unknown>> };
}

export async function contentOf(client: OpenAI, fileId: string | undefined): Promise<OutputLine[]> {
  const text = await (await client.files.content(fileId ?? "")).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as OutputLine);
}
