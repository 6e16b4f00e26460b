/** Runs the lines of a batch file: each is a call of its own, answered and priced as it would be alone, at half price. */
import { isRecord } from "../body-fields";
import { chatAnswer } from "../chat";
import { ControlError, readControl } from "../control";
import { embeddingsAnswer } from "../embeddings";
import { askedFailure, errorBody, refusalOf, RequestError } from "../errors";
import type { Call, Exchange, Metered } from "../exchange";
import { completionsAnswer } from "./completions";
import { moderationsAnswer } from "./moderations";
import { responsesAnswer } from "./responses";

export interface BatchLine {
  readonly customId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface BatchAnswer {
  /** A line of the output or the error file. */
  readonly json: string;
  /** What it costs; undefined for a line that failed. */
  readonly metered: Metered | undefined;
}

export interface BatchProblem {
  readonly code: string;
  readonly line: number | null;
  readonly message: string;
}

const ANSWERS = new Map<string, (call: Call) => { metered: Metered; json: string }>([
  ["/v1/chat/completions", chatAnswer],
  ["/v1/embeddings", embeddingsAnswer],
  ["/v1/completions", completionsAnswer],
  ["/v1/responses", responsesAnswer],
  ["/v1/moderations", moderationsAnswer],
]);

export const BATCH_ENDPOINTS: readonly string[] = [...ANSWERS.keys()];

/** The lines of a batch file, or what is wrong with it. */
export function readBatchLines(text: string, endpoint: string): BatchLine[] | BatchProblem {
  const lines: BatchLine[] = [];
  const seen = new Set<string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = parseLine(line);
    const problem = problemOf(parsed, endpoint, seen);
    if (problem !== undefined) return { ...problem, line: index + 1 };
    const customId = String(parsed?.custom_id);
    seen.add(customId);
    lines.push({ customId, body: isRecord(parsed?.body) ? parsed.body : {} });
  }
  if (lines.length > 0) return lines;
  return { code: "empty_file", line: null, message: "The input file is empty." };
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function problemOf(
  line: Readonly<Record<string, unknown>> | undefined,
  endpoint: string,
  seen: ReadonlySet<string>,
): { code: string; message: string } | undefined {
  if (line === undefined) return { code: "invalid_json_line", message: "This line is not parseable as valid JSON." };
  if (typeof line.custom_id !== "string") {
    return { code: "missing_required_parameter", message: "Missing required parameter: 'custom_id'." };
  }
  if (seen.has(line.custom_id)) {
    return { code: "duplicate_custom_id", message: `The custom_id '${line.custom_id}' is not unique.` };
  }
  if (line.method !== "POST") return { code: "invalid_method", message: "The method must be POST." };
  if (line.url !== endpoint) {
    return { code: "mismatched_endpoint", message: `The URL must be '${endpoint}', as the batch says.` };
  }
  return isRecord(line.body) ? undefined : { code: "invalid_body", message: "The body must be an object." };
}

/** Answers one line. A line may carry its own control in its body. */
export function answerBatchLine(batch: Exchange, endpoint: string, line: BatchLine, index: number): BatchAnswer {
  const callId = `${batch.callId}_${index}`;
  const shell = { id: `batch_req_${callId}`, custom_id: line.customId };
  const respond = (status: number, body: string, metered?: Metered): BatchAnswer => {
    const response = `{"status_code":${status},"request_id":"req_${callId}","body":${body}}`;
    return { json: `${JSON.stringify(shell).slice(0, -1)},"response":${response},"error":null}`, metered };
  };
  try {
    const control = readControl(undefined, line.body);
    if (control.status !== undefined || control.error !== undefined) {
      const failure = askedFailure(control, "openai");
      return respond(failure.status, errorBody("openai", failure));
    }
    const { receivedAtMs, vendor } = batch;
    const answer = ANSWERS.get(endpoint)?.({ body: line.body, control, callId, receivedAtMs, vendor });
    if (answer === undefined) throw new RequestError(400, "invalid_value", `No such endpoint: ${endpoint}`);
    const { metered, json } = answer;
    return respond(200, json, { ...metered, extras: { ...metered.extras, serviceTier: "batch" } });
  } catch (error) {
    if (error instanceof RequestError) return respond(error.status, errorBody("openai", refusalOf(error, "openai")));
    if (error instanceof ControlError) {
      return respond(
        400,
        errorBody("openai", { status: 400, message: error.message, code: "invalid_sandbox_control" }),
      );
    }
    throw error;
  }
}
