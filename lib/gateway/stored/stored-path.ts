/** Paths of what providers keep (OpenAI API reference: files, batches, responses), behind `/v1/`. */
import type { StoredKind } from "@/lib/domain/stored-object";
import { isObjectId } from "@/lib/domain/stored-object";

export interface StoredPath {
  readonly kind: StoredKind;
  /** Null for all of them. */
  readonly id: string | null;
  readonly tail: "content" | "cancel" | "input_items" | null;
}

const TAILS = { files: ["content"], batches: ["cancel"], responses: ["cancel", "input_items"] } as const;
const KINDS = { files: "file", batches: "batch", responses: "response" } as const;

function isStoredRoot(root: string): root is keyof typeof KINDS {
  return Object.hasOwn(KINDS, root);
}

/** Undefined for other paths, and for ids that no provider gives. */
export function storedPath(path: string, method: string): StoredPath | undefined {
  const [root = "", id = null, tail = null, ...more] = path.split("/");
  if (!isStoredRoot(root) || more.length > 0) return undefined;
  const kind = KINDS[root];
  // To make a response is a call like any other, and so is what stands beside it: `responses/input_tokens`.
  if (kind === "response" && (id === null || (tail === null && method === "POST"))) return undefined;
  if (id !== null && !isObjectId(id)) return undefined;
  const known = TAILS[root].find((one) => one === tail);
  return tail === null || known !== undefined ? { kind, id, tail: known ?? null } : undefined;
}
