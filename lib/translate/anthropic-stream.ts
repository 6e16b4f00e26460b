/** An OpenAI chat stream as an Anthropic stream, event by event. */
import { anthropicUsage, stopReason } from "./ends-and-usage";
import type { Json } from "./untranslatable";
import { isObject } from "./untranslatable";

function write(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** What the open block is: text, a refusal, or the call at a position. */
type OpenBlock = "content" | "refusal" | number;

/**
 * `push` takes the data of each event and gives text for the client; "" where there is nothing to say. `end` when the
 * upstream has ended. Usage comes at the end at OpenAI's, so `message_start` states none and `message_delta` all of it.
 */
export class AnthropicStreamWriter {
  private isStarted = false;
  private isOver = false;
  private open: OpenBlock | undefined;
  private openId: unknown;
  private index = -1;
  private hasCalls = false;
  private hasRefusal = false;
  private finish: unknown = undefined;
  private usage: unknown;

  push(data: string): string {
    if (this.isOver) return "";
    if (data === "[DONE]") return this.stop();
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch {
      return "";
    }
    if (!isObject(chunk)) return "";
    return isObject(chunk.error) ? this.error(chunk.error) : this.take(chunk);
  }

  /** A stream without `[DONE]` that said why it ended is over; any other broke off. */
  end(): string {
    if (this.isOver) return "";
    return this.finish === undefined ? this.error({}) : this.stop();
  }

  private take(chunk: Json): string {
    const choices = Array.isArray(chunk.choices) ? (chunk.choices as unknown[]) : [];
    const choice = choices.find(isObject);
    if (isObject(chunk.usage)) this.usage = chunk.usage;
    else if (isObject(choice?.usage)) this.usage = choice.usage;
    if (!choice) return "";
    const parts = [this.start(chunk)];
    if (isObject(choice.delta)) parts.push(...this.delta(choice.delta));
    if (typeof choice.finish_reason === "string") this.finish = choice.finish_reason;
    return parts.join("");
  }

  private start(chunk: Json): string {
    if (this.isStarted) return "";
    this.isStarted = true;
    const message = {
      id: chunk.id,
      type: "message",
      role: "assistant",
      model: chunk.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: anthropicUsage({}),
    };
    return write("message_start", { message });
  }

  private delta(delta: Json): string[] {
    const parts: string[] = [];
    for (const name of ["content", "refusal"] as const) {
      const text = delta[name];
      if (typeof text === "string" && text !== "") parts.push(this.text(name, text));
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) parts.push(this.call(call));
    return parts;
  }

  private openBlock(block: OpenBlock, content: Json): string {
    const closing = this.closeBlock();
    this.open = block;
    this.index += 1;
    return closing + write("content_block_start", { index: this.index, content_block: content });
  }

  private closeBlock(): string {
    if (this.open === undefined) return "";
    this.open = undefined;
    return write("content_block_stop", { index: this.index });
  }

  private text(kind: "content" | "refusal", text: string): string {
    if (kind === "refusal") this.hasRefusal = true;
    const opening = this.open === kind ? "" : this.openBlock(kind, { type: "text", text: "" });
    return opening + write("content_block_delta", { index: this.index, delta: { type: "text_delta", text } });
  }

  private call(value: unknown): string {
    if (this.isOver || !isObject(value)) return "";
    const called = isObject(value.function) ? value.function : {};
    const position = typeof value.index === "number" ? value.index : 0;
    const hasId = typeof value.id === "string" && value.id !== "";
    let text = "";
    // Some servers give every call the same position: a new id is a new call.
    if (this.open !== position || (hasId && value.id !== this.openId)) {
      // A piece of a call whose block is closed has nowhere to go.
      if (!hasId) return this.error({ message: "The model mixed the calls of its tools." });
      this.hasCalls = true;
      this.openId = value.id;
      text = this.openBlock(position, { type: "tool_use", id: value.id, name: called.name, input: {} });
    }
    if (typeof called.arguments !== "string" || called.arguments === "") return text;
    const delta = { type: "input_json_delta", partial_json: called.arguments };
    return text + write("content_block_delta", { index: this.index, delta });
  }

  private stop(): string {
    this.isOver = true;
    if (!this.isStarted) return "";
    const reason = this.hasRefusal ? "refusal" : stopReason(this.finish, this.hasCalls);
    const delta = { stop_reason: reason, stop_sequence: null };
    return [
      this.closeBlock(),
      write("message_delta", { delta, usage: anthropicUsage(this.usage) }),
      write("message_stop", {}),
    ].join("");
  }

  private error({ message }: Json): string {
    this.isOver = true;
    const error = { type: "api_error", message: message ?? "The model provider broke off the stream." };
    return write("error", { error });
  }
}
