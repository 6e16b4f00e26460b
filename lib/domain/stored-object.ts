/**
 * Files, batches and responses at a provider outlive the call that made them, and the provider only knows our account: whose they
 * are stands here. Owned by the app of the key that made them, in the key's environment.
 */
import { z } from "zod";
import type { JobFacts } from "./provider-job";
import { ENVIRONMENTS } from "./snapshot";

export const STORED_KINDS = ["file", "batch", "response"] as const;
export type StoredKind = (typeof STORED_KINDS)[number];

/** What a checked batch file asks for: sums over its lines, each an upper bound. */
export const batchInput = z.object({
  /** As the caller names it, and as the provider knows it. */
  model: z.string(),
  upstreamModel: z.string(),
  /** Name of the lines' route: `chat/completions`. */
  route: z.string(),
  lines: z.int().positive(),
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  /** The most of one line, on one side. */
  longestTokens: z.int().nonnegative(),
  /** Whether all lines are text and nothing else, and whether one may be answered with sound. */
  isPlainText: z.boolean(),
  hasAudioOutput: z.boolean(),
  /** Named by all lines alike; null otherwise. */
  endUser: z.string().nullable(),
});
export type BatchInput = z.infer<typeof batchInput>;

export const storedObject = z.object({
  kind: z.enum(STORED_KINDS),
  /** As the provider gave it. */
  id: z.string(),
  appId: z.string(),
  environment: z.enum(ENVIRONMENTS),
  apiKeyId: z.string(),
  providerId: z.string(),
  /** Of a batch and its files: where its model is served. */
  deploymentId: z.string().nullable(),
  createdMs: z.number(),
  /** As the provider last told it. */
  object: z.record(z.string(), z.unknown()),
  /** Of a batch's input file. */
  input: batchInput.nullable(),
  /** Of a file that a batch has written. */
  batchId: z.string().nullable(),
});
export type StoredObject = z.infer<typeof storedObject>;

export interface ObjectOwner {
  readonly appId: string;
  readonly environment: StoredObject["environment"];
}

export function isOwnedBy(object: ObjectOwner, { appId, environment }: ObjectOwner): boolean {
  return object.appId === appId && object.environment === environment;
}

/** Ids of objects as providers give them. */
export function isObjectId(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]{0,199}$/u.test(text);
}

const ENDED = new Set(["completed", "failed", "expired", "cancelled"]);

/** Whether the provider does nothing more of it (API reference: batch object, `status`). */
export function hasEnded(batch: Readonly<Record<string, unknown>>): boolean {
  return typeof batch.status === "string" && ENDED.has(batch.status);
}

/** Ids of the files that a batch has written so far. */
export function writtenFileIds(batch: Readonly<Record<string, unknown>>): string[] {
  return [batch.output_file_id, batch.error_file_id].filter(
    (id): id is string => typeof id === "string" && isObjectId(id),
  );
}

export type Made = Pick<JobFacts, "appId" | "environment" | "apiKeyId" | "providerId" | "deploymentId" | "createdMs">;

/** A batch as it stands, and the files it has written: its owner's, like itself. */
export function objectsOfBatch(made: Made, model: string, batch: Readonly<Record<string, unknown>>): StoredObject[] {
  const { appId, environment, apiKeyId, providerId, deploymentId, createdMs } = made;
  const owned = { appId, environment, apiKeyId, providerId, deploymentId, createdMs, input: null };
  const id = String(batch.id);
  // The provider's own name of the model is nobody's business.
  const object = { ...batch, ...(batch.model === undefined ? {} : { model }) };
  const files = writtenFileIds(batch).map((fileId): StoredObject => ({
    ...owned,
    kind: "file",
    id: fileId,
    object: writtenFile(fileId, batch),
    batchId: id,
  }));
  return [{ ...owned, kind: "batch", id, object, batchId: null }, ...files];
}

/** How a list shows a file that a batch wrote, of whose size only the provider knows. */
function writtenFile(id: string, batch: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const createdAt = batch.completed_at ?? batch.cancelled_at ?? batch.expired_at ?? batch.created_at;
  return {
    id,
    object: "file",
    bytes: 0,
    created_at: typeof createdAt === "number" ? createdAt : 0,
    filename: `${id}.jsonl`,
    purpose: "batch_output",
    status: "processed",
  };
}

const FIRST_LOOK_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/** Pause before the provider is asked again, by how long the batch has run: a tenth of it, from five seconds to a minute. */
export function nextLookMs(runsSinceMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_LOOK_MS, Math.floor(runsSinceMs / 10)));
}
