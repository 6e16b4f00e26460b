/** POST /v1/messages and /v1/messages/count_tokens, as one JSON body or as a stream of named events. */
import { answerJson } from "../answer";
import { RequestError } from "../errors";
import type { Exchange } from "../exchange";
import { type Chunk, streamAnswer } from "../stream";
import { toolArguments } from "../tokens";
import { type Block, countMessages, messagesModel, type MessagesPlan, planMessages } from "./messages-plan";
import { messagesUsage } from "./messages-usage";

const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Output tokens that the first event of a stream already speaks of. */
const FIRST_OUTPUT_TOKENS = 1;
const SIGNATURE = "c2FuZGJveA==";

export function handleMessages(exchange: Exchange): void {
  checkEnvelope(exchange);
  const plan = planMessages(exchange);
  if (!plan.stream) {
    const content = plan.blocks.map((block) => wholeBlock(plan, block));
    const usage = messagesUsage(plan, exchange.control);
    answerJson(exchange, plan, JSON.stringify({ ...messageShell(plan), content, ...stopOf(plan), usage }));
    return;
  }
  streamAnswer(exchange, plan, {
    chunks: messageEvents(plan, exchange),
    end: namedEvent({ type: "message_stop" }),
    errorEvent: (body) => `event: error\ndata: ${body}\n\n`,
    hiddenTokens: plan.hiddenTokens,
  });
}

/** Free, and not on the bill. */
export function handleCountTokens(exchange: Exchange): void {
  checkEnvelope(exchange);
  messagesModel(exchange.body);
  const counted = exchange.control.promptTokens ?? countMessages(exchange.body);
  answerJson(exchange, undefined, JSON.stringify({ input_tokens: counted }));
}

function checkEnvelope({ request }: Exchange): void {
  if (request.header("anthropic-version") === undefined) {
    throw new RequestError(400, null, "anthropic-version: header is required");
  }
  if (request.bytes.length > MAX_BODY_BYTES) {
    throw new RequestError(413, null, "Request exceeds the maximum size");
  }
}

function messageShell({ id, answerModel }: MessagesPlan): object {
  return { id, type: "message", role: "assistant", model: answerModel };
}

function stopOf({ stopReason }: MessagesPlan): object {
  return { stop_reason: stopReason, stop_sequence: null };
}

function wholeBlock({ text }: MessagesPlan, block: Block): object {
  switch (block.kind) {
    case "thinking":
      return { type: "thinking", thinking: text(0, block.tokens), signature: SIGNATURE };
    case "text":
      return { type: "text", text: text(0, block.tokens) };
    case "tool_use": {
      const input: unknown = JSON.parse(toolArguments(text, 0, block.tokens, block.tokens));
      return { type: "tool_use", id: block.id, name: block.name, input };
    }
  }
}

function* messageEvents(plan: MessagesPlan, { control }: Exchange): Generator<Chunk, undefined> {
  const first = messagesUsage(plan, control, Math.min(FIRST_OUTPUT_TOKENS, plan.completionTokens));
  const message = { ...messageShell(plan), content: [], stop_reason: null, stop_sequence: null, usage: first };
  yield frame({ type: "message_start", message });
  let produced = plan.hiddenTokens;
  for (const [index, block] of plan.blocks.entries()) {
    yield frame({ type: "content_block_start", index, content_block: emptyBlock(block) });
    if (index === 0) yield frame({ type: "ping" });
    for (const { delta, tokens } of deltasOf(plan, block, control.tokensPerChunk ?? 1)) {
      yield frame({ type: "content_block_delta", index, delta }, tokens);
      produced += tokens;
      if (control.fault === "usage_twice" && produced - tokens === plan.hiddenTokens)
        yield messageDelta(plan, produced);
    }
    if (block.kind === "thinking") {
      yield frame({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: SIGNATURE } });
    }
    yield frame({ type: "content_block_stop", index });
  }
  const usage = messagesUsage(plan, control);
  yield frame({ type: "message_delta", delta: stopOf(plan), ...(usage === undefined ? {} : { usage }) });
  return undefined;
}

/** A running total, which the last one replaces. */
function messageDelta(plan: MessagesPlan, outputTokens: number): Chunk {
  const delta = { stop_reason: null, stop_sequence: null };
  return frame({ type: "message_delta", delta, usage: messagesUsage(plan, {}, outputTokens) });
}

function* deltasOf({ text }: MessagesPlan, block: Block, step: number): Generator<{ delta: object; tokens: number }> {
  for (let from = 0; from < block.tokens; from += step) {
    const to = Math.min(from + step, block.tokens);
    const tokens = to - from;
    if (block.kind === "thinking") yield { delta: { type: "thinking_delta", thinking: text(from, to) }, tokens };
    else if (block.kind === "text") yield { delta: { type: "text_delta", text: text(from, to) }, tokens };
    else {
      const piece = toolArguments(text, from, to, block.tokens);
      yield { delta: { type: "input_json_delta", partial_json: piece }, tokens };
    }
  }
}

function emptyBlock(block: Block): object {
  if (block.kind === "tool_use") return { type: "tool_use", id: block.id, name: block.name, input: {} };
  if (block.kind === "thinking") return { type: "thinking", thinking: "", signature: "" };
  return { type: "text", text: "" };
}

type NamedEvent = Readonly<Record<string, unknown>> & { readonly type: string };

function frame(event: NamedEvent, tokens = 0): Chunk {
  return { text: namedEvent(event), tokens };
}

function namedEvent(event: NamedEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
