/**
 * Responses in the background, as their provider tells them: followed to their end and priced by what they say of their use. What
 * runs for too long is ended there, so that its hold does not stand for ever.
 */
import type { JobEnd, JobJson, ProviderJob } from "@/lib/db/provider-jobs";
import {
  isResponseOver,
  nextResponseLookMs,
  objectOfResponse,
  outputBytesOf,
  withoutTexts,
} from "@/lib/domain/background-response";
import type { ResponseFacts } from "@/lib/domain/provider-job";
import type { Outcome, TokenUsage } from "@/lib/domain/usage-event";
import type { AskedUse } from "@/lib/domain/usage-reader";
import { readUsage } from "@/lib/domain/usage-reader";
import { costOf } from "@/lib/pricing/cost";
import { PriceError } from "@/lib/pricing/decimal";
import { readHolds } from "@/lib/redis/kept-reservations";
import type { HeldJob } from "./job-settlement";
import { endUnseen, heldOf, inOrganisationCurrency, measuredEnd, unknownEnd } from "./job-settlement";
import type { JobDeps, Step } from "./job-steps";
import { MAX_UNKNOWN, noteObjects, pauseMs, settling } from "./job-steps";

type ResponseJob = ProviderJob<ResponseFacts>;

/** Longer than any model has worked at one answer; the window of a batch. */
const DEADLINE_MS = 24 * 3_600_000;
/** A provider that was asked to end one and has not within so long is not believed any more. */
const CANCEL_MS = 3_600_000;
const BYTES_PER_TOKEN = 4;

const OUTCOMES: Readonly<Record<string, Outcome>> = { cancelled: "aborted", failed: "upstream_error" };

interface Used {
  readonly usage: TokenUsage;
  readonly isEstimated: boolean;
}

/** As it says; one that was cancelled or has failed need not say it: then the input, and what there is of an answer. */
function usedBy({ facts }: ResponseJob, response: JobJson): Used {
  const asked = facts.askedUse as AskedUse;
  const reading = readUsage(response, { vendor: facts.vendor, asked });
  if (reading && Object.keys(reading.raw).length > 0) {
    return { usage: reading.usage, isEstimated: reading.flags.length > 0 };
  }
  const outputTokens = Math.ceil(outputBytesOf(response) / BYTES_PER_TOKEN);
  const unknown = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return { usage: { inputTokens: facts.inputGuess, outputTokens, ...unknown }, isEstimated: true };
}

function savedBy({ asked }: ResponseFacts, { head }: HeldJob, usage: TokenUsage, priceAmount: bigint): bigint {
  if (!asked) return 0n;
  try {
    const { amount } = costOf({ usage, rates: asked.rates, atMs: head.reservedAtMs });
    const saved = inOrganisationCurrency(amount, asked.fxRate) - inOrganisationCurrency(priceAmount, head.fxRate);
    return saved > 0n ? saved : 0n;
  } catch (error) {
    // The asked model has no rate for something that was used: nothing can be said of what it would have cost.
    if (error instanceof PriceError) return 0n;
    throw error;
  }
}

/** What a response came to that is over. */
function endOfResponse(job: ResponseJob, response: JobJson, nowMs: number): JobEnd {
  const held = heldOf(job);
  if (!held) return { result: null };
  const { facts } = job;
  const { usage, isEstimated } = usedBy(job, response);
  const { id, status } = response;
  try {
    const { amount: priceAmount, components } = costOf({ usage, rates: facts.rates, atMs: held.head.reservedAtMs });
    const outcome = OUTCOMES[String(status)] ?? "ok";
    return measuredEnd(
      held,
      {
        ...{ outcome, isEstimated, decision: facts.decision, usage, components, priceAmount },
        savedAmount: savedBy(facts, held, usage, priceAmount),
        explanation: { ...facts.explanation, background: { id, status } },
      },
      nowMs,
    );
  } catch (error) {
    if (error instanceof PriceError) return unknownEnd(job, held, nowMs);
    throw error;
  }
}

/**
 * A response whose making nobody saw the end of. Nobody knows its id, so nobody can say what it uses: the bill does. Where its
 * reservation is open no more it has ended already: given back by a gateway that could not tell, or expired.
 */
export async function findResponse(deps: JobDeps, job: ResponseJob): Promise<Step> {
  const nowMs = deps.clock.nowMs();
  const { answerByMs, organisationId, reservationId } = job.facts;
  if (nowMs < answerByMs) return { ...job, inMs: answerByMs - nowMs };
  const isOpen = (await readHolds(deps.store, organisationId, [reservationId])).has(reservationId);
  return settling(job, null, isOpen ? endUnseen(job, nowMs) : { result: null });
}

async function look(deps: JobDeps, { facts, said }: ResponseJob, isTooLong: boolean): Promise<JobJson | undefined> {
  const id = String(said?.id);
  const response = await deps.provider.response(facts, id);
  if (!response || isResponseOver(response) || !isTooLong) return response;
  return deps.provider.cancelResponse(facts, id);
}

export async function followResponse(deps: JobDeps, job: ResponseJob): Promise<Step> {
  const { facts, tries, said } = job;
  const nowMs = deps.clock.nowMs();
  const runsMs = nowMs - facts.createdMs;
  // A server that knows no background answers at once, and may keep nothing.
  if (said && isResponseOver(said)) return settling(job, null, endOfResponse(job, said, nowMs));
  const response = await look(deps, job, runsMs > DEADLINE_MS);
  if (!response) {
    if (tries + 1 >= MAX_UNKNOWN) return settling(job, null, endUnseen(job, nowMs));
    return { ...job, inMs: pauseMs(tries), tries: tries + 1 };
  }
  const kept = withoutTexts(response);
  if (JSON.stringify(kept) !== JSON.stringify(said)) {
    await noteObjects(deps, facts.organisationId, [objectOfResponse(facts, facts.model, kept)]);
  }
  if (!isResponseOver(response) && runsMs > DEADLINE_MS + CANCEL_MS) {
    return settling(job, kept, endUnseen(job, nowMs));
  }
  if (!isResponseOver(response)) return { state: "running", said: kept, end: null, inMs: nextResponseLookMs(runsMs) };
  return settling(job, kept, endOfResponse(job, response, nowMs));
}
