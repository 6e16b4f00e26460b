/**
 * A response that is made in the background (OpenAI API reference: response object, `status`; guide: background mode). What is
 * kept of it says how it stands and what it used, never what it says.
 */
import type { Made, StoredObject } from "./stored-object";

type Json = Readonly<Record<string, unknown>>;

const OVER = new Set(["completed", "failed", "cancelled", "incomplete"]);

/** Whether the provider does nothing more for it. */
export function isResponseOver(response: Json): boolean {
  return typeof response.status === "string" && OVER.has(response.status);
}

const KEPT = ["id", "object", "created_at", "status", "usage", "service_tier", "incomplete_details"] as const;

/** What may be written down: no input, no instructions, no output. */
export function withoutTexts(response: Json): Record<string, unknown> {
  return Object.fromEntries(KEPT.flatMap((name) => (response[name] === undefined ? [] : [[name, response[name]]])));
}

export function objectOfResponse(made: Made, model: string, response: Json): StoredObject {
  const { appId, environment, apiKeyId, providerId, deploymentId, createdMs } = made;
  return {
    ...{ kind: "response", id: String(response.id), appId, environment, apiKeyId, providerId, deploymentId, createdMs },
    ...{ object: { ...withoutTexts(response), model }, input: null, batchId: null },
  };
}

const utf8 = new TextEncoder();

function textBytes(value: unknown): number {
  if (typeof value === "string") return utf8.encode(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textBytes(item), 0);
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce((sum, [name, item]) => sum + (TEXT_MEMBERS.has(name) ? textBytes(item) : 0), 0);
}

/** Of output items and their parts, what was made (API reference: output items). */
const TEXT_MEMBERS = new Set(["content", "summary", "text", "refusal", "arguments", "input", "code"]);

/** UTF-8 bytes of all that it says. */
export function outputBytesOf(response: Json): number {
  return textBytes(response.output);
}

const FIRST_LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** Pause before the provider is asked again: a tenth of how long it has run, from one second to a quarter of a minute. */
export function nextResponseLookMs(runsSinceMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_LOOK_MS, Math.floor(runsSinceMs / 10)));
}
