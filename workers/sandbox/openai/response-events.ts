/** The typed events of a streamed response, numbered from 0; the last one holds the usage. */
import type { SandboxControl } from "../control-fields";
import { askedFailure } from "../errors";
import type { Chunk } from "../stream";
import { toolArguments } from "../tokens";
import { finalStatus, outputItem, reasoningItem, responseObject, textPart } from "./response-object";
import type { OutputItem, ResponsePlan } from "./responses-plan";

/** Numbers and frames events; one for each stream. */
export class EventNumbers {
  private next = 0;

  frame(event: Readonly<Record<string, unknown>> & { readonly type: string }, tokens = 0): Chunk {
    const numbered = { ...event, sequence_number: this.next };
    this.next += 1;
    return { text: `event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`, tokens };
  }

  errorEvent(control: SandboxControl): string {
    const { code, message } = askedFailure(control, "openai");
    return this.frame({ type: "error", code: code ?? null, message, param: null }).text;
  }
}

export function* responseEvents(
  plan: ResponsePlan,
  control: SandboxControl,
  numbers: EventNumbers,
): Generator<Chunk, undefined> {
  const response = responseObject(plan, control, "in_progress");
  yield numbers.frame({ type: "response.created", response });
  yield numbers.frame({ type: "response.in_progress", response });
  const status = finalStatus(plan, control);
  if (status !== "failed") {
    let index = 0;
    if (plan.reasoningTokens > 0) {
      const item = reasoningItem(plan);
      yield numbers.frame({ type: "response.output_item.added", output_index: index, item });
      yield numbers.frame({ type: "response.output_item.done", output_index: index, item });
      index += 1;
    }
    const ending = status === "completed" ? "completed" : "incomplete";
    for (const item of plan.items) {
      yield* itemEvents(plan, item, index, control.tokensPerChunk ?? 1, ending, numbers);
      index += 1;
    }
  }
  yield numbers.frame({ type: `response.${status}`, response: responseObject(plan, control, status) });
  return undefined;
}

function* itemEvents(
  plan: ResponsePlan,
  item: OutputItem,
  index: number,
  step: number,
  ending: "completed" | "incomplete",
  numbers: EventNumbers,
): Generator<Chunk, undefined> {
  const at = { output_index: index };
  const within = { item_id: item.id, ...at };
  yield numbers.frame({ type: "response.output_item.added", ...at, item: outputItem(plan, item, "in_progress") });
  if (item.functionName === undefined) {
    const part = { ...within, content_index: 0 };
    const text = plan.text(0, item.tokens);
    yield numbers.frame({ type: "response.content_part.added", ...part, part: textPart("") });
    for (const [from, to] of steps(item.tokens, step)) {
      const delta = plan.text(from, to);
      yield numbers.frame({ type: "response.output_text.delta", ...part, delta, logprobs: [] }, to - from);
    }
    yield numbers.frame({ type: "response.output_text.done", ...part, text, logprobs: [] });
    yield numbers.frame({ type: "response.content_part.done", ...part, part: textPart(text) });
  } else {
    for (const [from, to] of steps(item.tokens, step)) {
      const delta = toolArguments(plan.text, from, to, item.tokens);
      yield numbers.frame({ type: "response.function_call_arguments.delta", ...within, delta }, to - from);
    }
    const whole = toolArguments(plan.text, 0, item.tokens, item.tokens);
    const done = { ...within, name: item.functionName, arguments: whole };
    yield numbers.frame({ type: "response.function_call_arguments.done", ...done });
  }
  yield numbers.frame({ type: "response.output_item.done", ...at, item: outputItem(plan, item, ending) });
  return undefined;
}

function* steps(total: number, step: number): Generator<readonly [from: number, to: number]> {
  for (let from = 0; from < total; from += step) yield [from, Math.min(from + step, total)];
}
