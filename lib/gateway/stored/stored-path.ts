/** Paths of files and batches (OpenAI API reference: files, batches), behind `/v1/`. */
import type { StoredKind } from "@/lib/domain/stored-object";
import { isObjectId } from "@/lib/domain/stored-object";

export interface StoredPath {
  readonly kind: StoredKind;
  /** Null for all of them. */
  readonly id: string | null;
  readonly tail: "content" | "cancel" | null;
}

const PATH = /^(?:(files)(?:\/([^/]+)(?:\/(content))?)?|(batches)(?:\/([^/]+)(?:\/(cancel))?)?)$/u;

/** Undefined for other paths, and for ids that no provider gives. */
export function storedPath(path: string): StoredPath | undefined {
  const found = PATH.exec(path);
  if (!found) return undefined;
  const kind = found[1] === undefined ? "batch" : "file";
  const id = found[2] ?? found[5] ?? null;
  if (id !== null && !isObjectId(id)) return undefined;
  const tail = found[3] !== undefined ? "content" : found[6] !== undefined ? "cancel" : null;
  return { kind, id, tail };
}
