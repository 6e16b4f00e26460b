/** Brings refused calls to Postgres, where the console explains them. */
import { insertRefusals } from "@/lib/db/refusals";
import { refusalEvent } from "@/lib/domain/usage-event";
import { readRefusals, removeRefusals } from "@/lib/redis/refusal-stream";
import type { BookkeepingDeps } from "./bookkeeping";
import { parseStorable } from "./storable-json";

const BATCH = 500;

/** Moves what the stream holds; returns how many rows were new. What cannot be read is dropped: no money is in it. */
export async function drainRefusals(deps: BookkeepingDeps, organisationId: string): Promise<number> {
  let inserted = 0;
  for (;;) {
    const entries = await readRefusals(deps.store, organisationId, BATCH);
    if (entries.length > 0) {
      const texts = entries.flatMap((entry) => readableRefusal(entry.json) ?? []);
      inserted += await insertRefusals(deps.db.pool, organisationId, `[${texts.join(",")}]`);
      await removeRefusals(
        deps.store,
        organisationId,
        entries.map((entry) => entry.id),
      );
    }
    if (entries.length < BATCH) return inserted;
  }
}

function readableRefusal(json: string): string | null {
  try {
    const parsed = refusalEvent.safeParse(parseStorable(json));
    return parsed.success ? JSON.stringify(parsed.data) : null;
  } catch {
    return null;
  }
}
