/** OpenAI's Responses API: create (whole, streamed, in the background), read, list input, cancel, delete, count input tokens. */
import { Buffer } from "node:buffer";
import { answerBytes, answerJson } from "../answer";
import { modelField } from "../body-fields";
import { RequestError } from "../errors";
import { book, type Call, cutShort, type Exchange, type Metered } from "../exchange";
import { Shelves, type StoredResponse } from "../shelves";
import { streamAnswer } from "../stream";
import { EventNumbers, responseEvents } from "./response-events";
import { finalStatus, responseObject, type ResponseStatus } from "./response-object";
import { countInput, planResponse, type ResponsePlan } from "./responses-plan";

export function handleResponses(exchange: Exchange): void {
  const { control, shelves } = exchange;
  const plan = planResponse(exchange, shelves);
  if (plan.isBackground && !plan.isStored) {
    throw new RequestError(400, "invalid_value", "Background mode requires 'store' to be true.", "background");
  }
  if (plan.isBackground) {
    const stored = new BackgroundResponse(exchange, plan);
    shelves.responses.put(plan.id, stored);
    // It is made whole, and billed so, whoever listens.
    if (plan.stream) answerEvents(exchange, stored, -1);
    else answerJson(exchange, undefined, JSON.stringify(responseObject(plan, control, "queued")));
    return;
  }
  const status = finalStatus(plan, control);
  if (plan.isStored) shelves.responses.put(plan.id, finished(plan, exchange, status));
  if (!plan.stream) {
    answerJson(exchange, plan, JSON.stringify(responseObject(plan, control, status)));
    return;
  }
  const numbers = new EventNumbers();
  streamAnswer(exchange, plan, {
    chunks: responseEvents(plan, control, numbers),
    end: "",
    errorEvent: () => numbers.errorEvent(control),
    hiddenTokens: plan.reasoningTokens,
  });
}

/** A whole answer, for a batch. */
export function responsesAnswer(call: Call): { metered: Metered; json: string } {
  const plan = planResponse(call, new Shelves());
  const status = finalStatus(plan, call.control);
  return { metered: { ...plan, stream: false }, json: JSON.stringify(responseObject(plan, call.control, status)) };
}

function answerEvents(exchange: Exchange, stored: StoredResponse, after: number): void {
  answerBytes(exchange, undefined, Buffer.from(stored.events(after)), "text/event-stream");
}

export function handleReadResponse(exchange: Exchange): void {
  const stored = storedResponse(exchange);
  const query = exchange.request.query();
  if (query.get("stream") === "true") {
    answerEvents(exchange, stored, Number(query.get("starting_after") ?? -1));
    return;
  }
  const json = stored.json();
  stored.poll();
  answerJson(exchange, undefined, json);
}

export function handleInputItems(exchange: Exchange): void {
  const { id, input } = storedResponse(exchange);
  const items = Array.isArray(input) ? (input as unknown[]) : [{ role: "user", content: input }];
  const data = items.map((item, index) => ({ id: `msg_${id}_${index}`, type: "message", ...(item as object) }));
  answerJson(exchange, undefined, JSON.stringify({ object: "list", data, has_more: false }));
}

export function handleCancelResponse(exchange: Exchange): void {
  const stored = storedResponse(exchange);
  stored.cancel();
  answerJson(exchange, undefined, stored.json());
}

export function handleDeleteResponse(exchange: Exchange): void {
  const { id } = storedResponse(exchange);
  exchange.shelves.responses.delete(id);
  answerJson(exchange, undefined, JSON.stringify({ id, object: "response", deleted: true }));
}

/** Free, and not on the bill. */
export function handleInputTokens(exchange: Exchange): void {
  const { body, control } = exchange;
  if (body.model !== undefined) modelField(body, "chat");
  const counted = control.promptTokens ?? countInput(body);
  answerJson(exchange, undefined, JSON.stringify({ object: "response.input_tokens", input_tokens: counted }));
}

function storedResponse({ params, shelves }: Exchange): StoredResponse {
  const id = params[0] ?? "";
  const stored = shelves.responses.get(id);
  if (stored === undefined) throw new RequestError(404, null, `Response with id '${id}' not found.`);
  return stored;
}

function eventsOf(plan: ResponsePlan, control: Call["control"], after: number): string {
  const all = [...responseEvents(plan, control, new EventNumbers())];
  return all
    .slice(after + 1)
    .map(({ text }) => text)
    .join("");
}

function finished(plan: ResponsePlan, { control }: Call, status: ResponseStatus): StoredResponse {
  return {
    id: plan.id,
    input: plan.body.input,
    contextTokens: plan.promptTokens + plan.completionTokens,
    json: () => JSON.stringify(responseObject(plan, control, status)),
    events: (after) => eventsOf(plan, control, after),
    poll: () => undefined,
    cancel: () => {
      const message = "Cannot cancel a synchronous response.";
      throw new RequestError(400, null, message);
    },
  };
}

/**
 * Runs while it is read: `polls` reads still find it in progress, and as many equal parts of its answer are produced.
 * Without `polls` it is done, and billed, as soon as it is asked for. Cancelled, it bills what was produced, and says
 * nothing about it.
 */
class BackgroundResponse implements StoredResponse {
  readonly id: string;
  readonly contextTokens: number;
  readonly input: unknown;
  private readonly polls: number;
  private polled = 0;
  private status: ResponseStatus = "queued";

  constructor(
    private readonly exchange: Exchange,
    private readonly plan: ResponsePlan,
  ) {
    this.id = plan.id;
    this.input = plan.body.input;
    this.contextTokens = plan.promptTokens + plan.completionTokens;
    this.polls = exchange.control.polls ?? 0;
    this.advance();
  }

  json(): string {
    return JSON.stringify(responseObject(this.plan, this.exchange.control, this.status));
  }

  events(after: number): string {
    this.polled = Math.max(this.polled, this.polls);
    this.advance();
    return eventsOf(this.plan, this.exchange.control, after);
  }

  poll(): void {
    this.polled += 1;
    this.advance();
  }

  cancel(): void {
    if (this.status !== "queued" && this.status !== "in_progress") return;
    this.status = "cancelled";
    const share = this.polled / (this.polls + 1);
    book(this.exchange, cutShort(this.plan, Math.floor(this.plan.completionTokens * share)), true);
  }

  private advance(): void {
    if (this.status !== "queued" && this.status !== "in_progress") return;
    if (this.polled < this.polls) {
      this.status = "in_progress";
      return;
    }
    this.status = finalStatus(this.plan, this.exchange.control);
    book(this.exchange, this.plan, false);
  }
}
