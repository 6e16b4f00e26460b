/**
 * What a provider works at after the call that asked for it has been answered: a batch, or a response in the background. A worker
 * keeps its hold, asks how it stands and settles it once. These are the facts that it needs beside the reservation.
 */
import { z } from "zod";
import { priceRatesSchema } from "./price-rates";
import { ENVIRONMENTS } from "./snapshot";
import { usageEvent } from "./usage-event";

const madeWith = z.object({
  reservationId: z.string(),
  organisationId: z.string(),
  appId: z.string(),
  environment: z.enum(ENVIRONMENTS),
  apiKeyId: z.string(),
  providerId: z.string(),
  deploymentId: z.string(),
  /** The caller's name of the model. */
  model: z.string(),
  /** Whose usage it is (the reader of usage). */
  vendor: z.string(),
  /** The price by which it was held. */
  rates: priceRatesSchema,
  createdMs: z.number(),
  /** Until then a gateway may be waiting for the provider's answer. */
  answerByMs: z.number(),
  explanation: z.record(z.string(), z.unknown()),
});

export const batchFacts = madeWith.extend({
  kind: z.literal("batch").default("batch"),
  inputFileId: z.string(),
  endpoint: z.string(),
  lines: z.int().positive(),
});
export type BatchFacts = z.infer<typeof batchFacts>;

export const responseFacts = madeWith.extend({
  kind: z.literal("response"),
  decision: usageEvent.shape.decision,
  /** Input tokens, guessed, for an answer that ends without saying what it used. */
  inputGuess: z.int().nonnegative(),
  /** What the request says of the use and the answer may not (`AskedUse`). */
  askedUse: z.record(z.string(), z.unknown()),
  /** The price of the asked model, where another serves: what was saved is told by it. */
  asked: z.object({ rates: priceRatesSchema, fxRate: z.string().nullable() }).nullable(),
});
export type ResponseFacts = z.infer<typeof responseFacts>;

/** Batches were there first: what says nothing of its kind is one. */
export const jobFacts = z.union([responseFacts, batchFacts]);
export type JobFacts = z.infer<typeof jobFacts>;

/**
 * `creating`: asked of the provider, whose answer is not known. `running` until it has ended there, `settling` until its cost
 * stands in the ledger, then `settled`; `void` where the provider never made it, or nothing of it is billed.
 */
export const JOB_STATES = ["creating", "running", "settling", "settled", "void"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** What a gateway tells of a job, in this order. `said`: the object as the provider told it, without texts. */
export const jobMove = z.discriminatedUnion("to", [
  z.object({ to: z.literal("creating"), facts: jobFacts }),
  z.object({ to: z.literal("running"), facts: jobFacts, said: z.record(z.string(), z.unknown()) }),
  z.object({ to: z.literal("void"), facts: jobFacts }),
]);
export type JobMove = z.infer<typeof jobMove>;
