/**
 * A fixed text as an answer that the route's SDK takes for a model's: whole, or streamed where that was asked for. Nothing was
 * generated, so all usage is zero.
 */
import type { RouteKind } from "./route-request";
import type { TypedData } from "./sse-text";
import { DONE_EVENT, dataEvent, typedEvent } from "./sse-text";

export interface StaticText {
  readonly text: string;
  /** Model the caller asked for. */
  readonly model: string;
  /** Id of the call, without a vendor's prefix. */
  readonly id: string;
  readonly createdSeconds: number;
  readonly isStream: boolean;
  /** Whether the client asked for the usage chunk of a stream. */
  readonly wantsUsage: boolean;
}

export interface StaticAnswer {
  readonly contentType: string;
  readonly body: string;
}

const NO_TOKENS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

function chatBody({ text, model, id, createdSeconds }: StaticText): object {
  const message = { role: "assistant", content: text, refusal: null };
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created: createdSeconds,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
    usage: NO_TOKENS,
  };
}

function chatEvents({ text, model, id, createdSeconds, wantsUsage }: StaticText): string {
  const head = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created: createdSeconds, model };
  const chunk = (delta: object, finish_reason: string | null) =>
    dataEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
  return [
    chunk({ role: "assistant", content: "" }, null),
    chunk({ content: text }, null),
    chunk({}, "stop"),
    wantsUsage ? dataEvent({ ...head, choices: [], usage: NO_TOKENS }) : "",
    DONE_EVENT,
  ].join("");
}

function completionBody({ text, model, id, createdSeconds }: StaticText): object {
  return {
    id: `cmpl-${id}`,
    object: "text_completion",
    created: createdSeconds,
    model,
    choices: [{ index: 0, text, logprobs: null, finish_reason: "stop" }],
    usage: NO_TOKENS,
  };
}

function completionEvents(answer: StaticText): string {
  const { usage, ...whole } = completionBody(answer) as { usage: object };
  const last = answer.wantsUsage ? dataEvent({ ...whole, choices: [], usage }) : "";
  return `${dataEvent(whole)}${last}${DONE_EVENT}`;
}

function responsesMessage({ text, id }: StaticText) {
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  return { type: "message", id: `msg_${id}`, status: "completed", role: "assistant", content: [part] };
}

function responsesBody(answer: StaticText): Readonly<Record<string, unknown>> {
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: answer.createdSeconds,
    status: "completed",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: answer.model,
    output: [responsesMessage(answer)],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
  };
}

function responsesEvents(answer: StaticText): string {
  const response = responsesBody(answer);
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const item = responsesMessage(answer);
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const part = item.content[0];
  const { text } = answer;
  const events: TypedData[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: text, logprobs: [] },
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  return events.map((event, number) => typedEvent({ ...event, sequence_number: number })).join("");
}

function messageBody({ text, model, id }: StaticText) {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
  };
}

function messageEvents(answer: StaticText): string {
  const message = { ...messageBody(answer), content: [], stop_reason: null };
  const start = { type: "text", text: "" };
  const events: TypedData[] = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: answer.text } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 0 },
    },
    { type: "message_stop" },
  ];
  return events.map(typedEvent).join("");
}

function geminiBody({ text, model, id }: StaticText): object {
  return {
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
    modelVersion: model,
    responseId: id,
  };
}

const FORMS: Readonly<
  Partial<
    Record<
      RouteKind,
      { readonly body: (answer: StaticText) => object; readonly events: (answer: StaticText) => string }
    >
  >
> = {
  chat: { body: chatBody, events: chatEvents },
  completion: { body: completionBody, events: completionEvents },
  responses: { body: responsesBody, events: responsesEvents },
  messages: { body: messageBody, events: messageEvents },
  gemini: { body: geminiBody, events: (answer) => dataEvent(geminiBody(answer)) },
};

/** Undefined for routes whose answer is not text: there a static fallback is a refusal. */
export function staticAnswer(kind: RouteKind, answer: StaticText): StaticAnswer | undefined {
  const form = FORMS[kind];
  if (!form) return undefined;
  return answer.isStream
    ? { contentType: "text/event-stream; charset=utf-8", body: form.events(answer) }
    : { contentType: "application/json", body: JSON.stringify(form.body(answer)) };
}
