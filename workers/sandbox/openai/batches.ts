/**
 * /v1/batches. A batch is validated when it is created and runs while it is read: `polls` reads still find it at work and
 * `finalizingPolls` more its files unwritten; without either the first read finds it done. Each finished line is a line of the bill, at half price, under the
 * request tag of the call that created the batch; lines that failed cost nothing.
 */
import { answerJson } from "../answer";
import { requiredText } from "../body-fields";
import { RequestError } from "../errors";
import { book, type Exchange, isBilled } from "../exchange";
import type { StoredBatch } from "../shelves";
import {
  answerBatchLine,
  BATCH_ENDPOINTS,
  type BatchAnswer,
  type BatchLine,
  type BatchProblem,
  readBatchLines,
} from "./batch-lines";
import { keepLines, pageOf } from "./files";

const WINDOW = "24h";
const WINDOW_SECONDS = 86_400;

export function handleCreateBatch(exchange: Exchange): void {
  const { body, shelves } = exchange;
  const endpoint = requiredText(body, "endpoint");
  if (!BATCH_ENDPOINTS.includes(endpoint)) {
    throw new RequestError(400, "invalid_value", `Invalid value: '${endpoint}'.`, "endpoint");
  }
  if (requiredText(body, "completion_window") !== WINDOW) {
    throw new RequestError(400, "invalid_value", `'completion_window' must be '${WINDOW}'.`, "completion_window");
  }
  const fileId = requiredText(body, "input_file_id");
  const file = shelves.files.get(fileId);
  if (file === undefined) throw new RequestError(404, null, `No such File object: ${fileId}`, "input_file_id");
  const batch = new RunningBatch(exchange, endpoint, fileId, readBatchLines(file.bytes.toString("utf8"), endpoint));
  // What is answered with an error was not made.
  if (isBilled(exchange.control)) shelves.batches.put(batch.id, batch);
  answerJson(exchange, undefined, batch.json());
}

export function handleListBatches(exchange: Exchange): void {
  const page = pageOf(exchange, exchange.shelves.batches.all(), (batch) => JSON.parse(batch.json()) as object);
  answerJson(exchange, undefined, page);
}

export function handleReadBatch(exchange: Exchange): void {
  const batch = batchOfPath(exchange);
  batch.poll();
  answerJson(exchange, undefined, batch.json());
}

export function handleCancelBatch(exchange: Exchange): void {
  const batch = batchOfPath(exchange);
  batch.cancel();
  answerJson(exchange, undefined, batch.json());
}

function batchOfPath({ params, shelves }: Exchange): StoredBatch {
  const id = params[0] ?? "";
  const batch = shelves.batches.get(id);
  if (batch === undefined) throw new RequestError(404, null, `No batch found with id '${id}'.`);
  return batch;
}

type BatchEnd = "completed" | "expired" | "cancelled";
type BatchStatus = BatchEnd | "validating" | "failed" | "in_progress" | "finalizing" | "cancelling";
const ENDED: ReadonlySet<BatchStatus> = new Set(["failed", "completed", "expired", "cancelled"]);

class RunningBatch implements StoredBatch {
  readonly id: string;
  private readonly createdSeconds: number;
  private readonly lines: readonly BatchLine[];
  private readonly problem: BatchProblem | undefined;
  private status: BatchStatus = "validating";
  /** When it came into each of its states, in seconds. */
  private readonly since: Record<string, number> = {};
  private polled = 0;
  private answers: readonly BatchAnswer[] | undefined;
  private outputFileId: string | undefined;
  private errorFileId: string | undefined;

  constructor(
    private readonly exchange: Exchange,
    private readonly endpoint: string,
    private readonly fileId: string,
    read: readonly BatchLine[] | BatchProblem,
  ) {
    this.id = `batch_${exchange.callId}`;
    this.createdSeconds = Math.floor(exchange.receivedAtMs / 1000);
    this.problem = "code" in read ? read : undefined;
    this.lines = "code" in read ? [] : read;
  }

  poll(): void {
    if (ENDED.has(this.status)) return;
    const { polls = 0, finalizingPolls = 0, batchEnd = "completed" } = this.exchange.control;
    if (this.problem !== undefined || batchEnd === "failed") this.come("failed");
    else if (this.status === "cancelling") this.finish("cancelled");
    else if (this.polled < polls) this.come("in_progress");
    else if (this.polled < polls + finalizingPolls) this.finalize(batchEnd);
    else this.finish(batchEnd);
    this.polled += 1;
  }

  cancel(): void {
    if (ENDED.has(this.status)) {
      throw new RequestError(409, null, `Cannot cancel a batch with status '${this.status}'.`);
    }
    this.come("cancelling");
  }

  private come(status: BatchStatus): void {
    this.status = status;
    this.since[status] ??= Math.floor(Date.now() / 1000);
  }

  /** All is answered, and billed; its files are yet to be written. */
  private finalize(end: BatchEnd): void {
    this.come("in_progress");
    this.come("finalizing");
    this.answered(end);
  }

  /** Of a batch that ends early only the first `finishedLines` lines are done, and billed. */
  private answered(end: BatchEnd): readonly BatchAnswer[] {
    if (this.answers) return this.answers;
    const done = end === "completed" ? this.lines.length : (this.exchange.control.finishedLines ?? 0);
    this.answers = this.lines
      .slice(0, done)
      .map((line, index) => answerBatchLine(this.exchange, this.endpoint, line, index));
    for (const { metered } of this.answers) book(this.exchange, metered, false);
    return this.answers;
  }

  private finish(end: BatchEnd): void {
    const answers = this.answered(end);
    this.come("in_progress");
    this.come(end);
    const { shelves, callId, control } = this.exchange;
    const linesWhere = (isDone: boolean) =>
      answers.filter(({ metered }) => (metered !== undefined) === isDone).map(({ json }) => json);
    this.outputFileId = keepLines(shelves, `file-${callId}out`, this.createdSeconds, linesWhere(true));
    this.errorFileId = keepLines(shelves, `file-${callId}err`, this.createdSeconds, linesWhere(false));
    if (control.loseOutput === true && this.outputFileId !== undefined) shelves.files.delete(this.outputFileId);
  }

  json(): string {
    const { status, createdSeconds } = this;
    const answers = this.answers ?? [];
    const completed = answers.filter(({ metered }) => metered !== undefined).length;
    return JSON.stringify({
      id: this.id,
      object: "batch",
      endpoint: this.endpoint,
      errors: this.problem === undefined || status === "validating" ? null : { object: "list", data: [this.problem] },
      input_file_id: this.fileId,
      completion_window: WINDOW,
      status,
      output_file_id: this.outputFileId ?? null,
      error_file_id: this.errorFileId ?? null,
      created_at: createdSeconds,
      in_progress_at: null,
      expires_at: createdSeconds + WINDOW_SECONDS,
      ...Object.fromEntries(Object.entries(this.since).map(([name, seconds]) => [`${name}_at`, seconds])),
      request_counts: { total: this.lines.length, completed, failed: answers.length - completed },
      usage: this.usage(),
      metadata: this.exchange.body.metadata ?? null,
    });
  }

  private usage(): object {
    const sum = (read: (metered: NonNullable<BatchAnswer["metered"]>) => number) =>
      (this.answers ?? []).reduce((total, { metered }) => total + (metered === undefined ? 0 : read(metered)), 0);
    const input = sum((metered) => metered.promptTokens);
    const output = sum((metered) => metered.completionTokens);
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: sum((metered) => metered.cachedTokens) },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: sum((metered) => metered.extras?.reasoningTokens ?? 0) },
      total_tokens: input + output,
    };
  }
}
