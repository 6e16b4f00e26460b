/** An Anthropic stream as an OpenAI chat stream, event by event. */
import { HIDDEN_BLOCKS } from "./answers";
import { finishReason, openAiUsage } from "./ends-and-usage";
import type { Json } from "./untranslatable";
import { isObject } from "./untranslatable";

export interface OpenAiStreamOptions {
  readonly createdSeconds: number;
  /** Whether the client asked for the usage chunk. */
  readonly wantsUsage: boolean;
}

interface OpenCall {
  readonly position: number;
  hasArguments: boolean;
}

/** `push` takes the data of each event and gives text for the client; "" where there is nothing to say. */
export class OpenAiStreamWriter {
  private head: Json = {};
  private usage: Json = {};
  private stopReason: unknown = null;
  private isOver = false;
  private callCount = 0;
  /** Calls of tools by the index of their block. */
  private readonly calls = new Map<unknown, OpenCall>();

  constructor(private readonly options: OpenAiStreamOptions) {}

  push(data: string): string {
    if (this.isOver) return "";
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      return "";
    }
    return isObject(event) ? this.take(event) : "";
  }

  private take(event: Json): string {
    switch (event.type) {
      case "message_start":
        return this.start(isObject(event.message) ? event.message : {});
      case "content_block_start":
        return this.openBlock(event);
      case "content_block_delta":
        return isObject(event.delta) ? this.delta(event.index, event.delta) : "";
      case "content_block_stop":
        return this.closeBlock(event.index);
      case "message_delta":
        if (isObject(event.delta)) this.stopReason = event.delta.stop_reason ?? this.stopReason;
        this.merge(event.usage);
        return "";
      case "message_stop":
        return this.stop();
      case "error":
        return this.error(isObject(event.error) ? event.error : {});
      default:
        return "";
    }
  }

  private chunk(delta: Json, finish: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return `data: ${JSON.stringify({ ...this.head, choices })}\n\n`;
  }

  /** Counts are cumulative: what is stated later replaces what was stated before. */
  private merge(usage: unknown): void {
    if (!isObject(usage)) return;
    const counts = Object.entries(usage).filter(([, value]) => value !== null);
    this.usage = { ...this.usage, ...Object.fromEntries(counts) };
  }

  private start(message: Json): string {
    const { createdSeconds: created } = this.options;
    this.head = { id: message.id, object: "chat.completion.chunk", created, model: message.model };
    this.merge(message.usage);
    return this.chunk({ role: "assistant" });
  }

  private openBlock(event: Json): string {
    const block = isObject(event.content_block) ? event.content_block : {};
    // A block can begin with text.
    if (block.type === "text") return this.text(block.text);
    if (HIDDEN_BLOCKS.has(block.type)) return "";
    if (block.type !== "tool_use") return this.error({ message: "The model sent content that has no counterpart." });
    const position = this.callCount;
    this.callCount += 1;
    this.calls.set(event.index, { position, hasArguments: false });
    const called = { name: block.name, arguments: "" };
    return this.chunk({ tool_calls: [{ index: position, id: block.id, type: "function", function: called }] });
  }

  private text(text: unknown): string {
    return typeof text === "string" && text !== "" ? this.chunk({ content: text }) : "";
  }

  private delta(index: unknown, delta: Json): string {
    if (delta.type === "text_delta") return this.text(delta.text);
    const call = this.calls.get(index);
    if (delta.type !== "input_json_delta" || !call || typeof delta.partial_json !== "string") return "";
    if (delta.partial_json === "") return "";
    call.hasArguments = true;
    return this.argumentsChunk(call, delta.partial_json);
  }

  private argumentsChunk(call: OpenCall, text: string): string {
    return this.chunk({ tool_calls: [{ index: call.position, function: { arguments: text } }] });
  }

  /** No arguments at all are an empty object at OpenAI's. */
  private closeBlock(index: unknown): string {
    const call = this.calls.get(index);
    this.calls.delete(index);
    return call && !call.hasArguments ? this.argumentsChunk(call, "{}") : "";
  }

  private stop(): string {
    const last = this.chunk({}, finishReason(this.stopReason));
    const usage = { ...this.head, choices: [], usage: openAiUsage(this.usage) };
    return `${last}${this.options.wantsUsage ? `data: ${JSON.stringify(usage)}\n\n` : ""}data: [DONE]\n\n`;
  }

  private error({ message, type }: Json): string {
    this.isOver = true;
    const error = {
      message: message ?? "The model provider broke off.",
      type: "server_error",
      param: null,
      code: type ?? null,
    };
    return `data: ${JSON.stringify({ error })}\n\n`;
  }
}
