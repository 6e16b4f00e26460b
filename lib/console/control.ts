/** From a console write to the use case: the same dependencies, under this request's idempotency key. */
import "server-only";
import type { ControlDeps } from "@/lib/control/deps";
import { withIdempotencyKey } from "@/lib/control/idempotency";
import { getControl } from "@/lib/wiring/control";

interface Write {
  readonly input: unknown;
  readonly params: unknown;
  readonly idempotencyKey: string;
  readonly requestId: string;
}

/** `operation` is part of what the key stands for: one key is never two different acts. */
export function controlFor(operation: string, write: Write): ControlDeps {
  const deps = { ...getControl(), requestId: write.requestId };
  return withIdempotencyKey(deps, write.idempotencyKey, { operation, params: write.params, input: write.input });
}
