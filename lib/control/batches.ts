/** Batches, as their provider tells them: found where nobody saw them made, followed to their end. */
import type { JobJson } from "@/lib/db/provider-jobs";
import { listKnownBatchIds } from "@/lib/db/provider-jobs";
import type { BatchFacts } from "@/lib/domain/provider-job";
import { hasEnded, nextLookMs, objectsOfBatch } from "@/lib/domain/stored-object";
import type { BatchJob } from "./batch-settlement";
import { endOfBatch } from "./batch-settlement";
import { endUnseen } from "./job-settlement";
import type { JobDeps, Step } from "./job-steps";
import { MAX_UNKNOWN, noteObjects, pauseMs, settling } from "./job-steps";

/** Clocks of providers and ours differ. */
const CLOCK_SLACK_MS = 300_000;

async function note(deps: JobDeps, facts: BatchFacts, said: JobJson): Promise<void> {
  await noteObjects(deps, facts.organisationId, objectsOfBatch(facts, facts.model, said));
}

/** A batch whose making nobody saw the end of: it is looked for among those of the account by the caller's own file. */
export async function findBatch(deps: JobDeps, batch: BatchJob): Promise<Step> {
  const { facts } = batch;
  const nowMs = deps.clock.nowMs();
  if (nowMs < facts.answerByMs) return { ...batch, inMs: facts.answerByMs - nowMs };
  const ours = (await deps.provider.recent(facts)).filter(
    (one) =>
      one.input_file_id === facts.inputFileId &&
      one.endpoint === facts.endpoint &&
      Number(one.created_at) * 1000 > facts.createdMs - CLOCK_SLACK_MS,
  );
  const known = await listKnownBatchIds(
    deps.db.pool,
    facts.organisationId,
    ours.map(({ id }) => String(id)),
  );
  // Oldest first: those that follow may be of a later call.
  const found = ours.filter(({ id }) => !known.has(String(id))).at(-1);
  if (!found) return settling(batch, null, { result: null });
  await note(deps, facts, found);
  return { state: "running", said: found, end: null, inMs: 0 };
}

export async function followBatch(deps: JobDeps, batch: BatchJob): Promise<Step> {
  const { facts, tries } = batch;
  const nowMs = deps.clock.nowMs();
  const said = await deps.provider.batch(facts, String(batch.said?.id));
  if (!said) {
    if (tries + 1 >= MAX_UNKNOWN) return settling(batch, null, endUnseen(batch, nowMs));
    return { ...batch, inMs: pauseMs(tries), tries: tries + 1 };
  }
  if (JSON.stringify(said) !== JSON.stringify(batch.said)) await note(deps, facts, said);
  if (!hasEnded(said)) {
    return { state: "running", said, end: null, inMs: nextLookMs(nowMs - facts.createdMs) };
  }
  return settling(batch, said, await endOfBatch({ ...batch, said }, deps.provider.file, nowMs));
}
