/** POST /v1/chat/completions: words the planned answer as OpenAI does, as one JSON body or as a stream. */
import { answerJson } from "./answer";
import { type ChatPlan, planChat, toolCallId } from "./chat-plan";
import { chatChunks } from "./chat-chunks";
import { chatUsage, usageHabit } from "./chat-usage";
import type { Call, Exchange, Metered } from "./exchange";
import { dataEvent, streamAnswer } from "./stream";
import { shareOut } from "./body-fields";
import { toolArguments } from "./tokens";

export function handleChat(exchange: Exchange): void {
  const plan = planChat(exchange);
  if (!plan.stream) {
    answerJson(exchange, plan, completionJson(plan, exchange));
    return;
  }
  streamAnswer(exchange, plan, {
    chunks: chatChunks(plan, exchange),
    end: "data: [DONE]\n\n",
    errorEvent: dataEvent,
    hiddenTokens: usageHabit(exchange.vendor).showsReasoning ? 0 : plan.reasoningTokens,
  });
}

/** A whole answer, for a batch. */
export function chatAnswer(call: Call): { metered: Metered; json: string } {
  const plan = planChat(call);
  return { metered: { ...plan, stream: false }, json: completionJson(plan, call) };
}

function completionJson(plan: ChatPlan, { control, vendor }: Call): string {
  const habit = usageHabit(vendor);
  const thoughts =
    habit.showsReasoning && plan.reasoningTokens > 0
      ? `"reasoning_content":"${plan.text(0, plan.reasoningTokens)}",`
      : "";
  let choices = "";
  plan.choices.forEach((tokens, index) => {
    const content =
      plan.toolCalls.length === 0 ? `"content":"${plan.text(0, tokens)}"` : toolCallsField(plan, tokens, index);
    choices +=
      `${index === 0 ? "" : ","}{"index":${index},"message":{"role":"assistant",${thoughts}${content},` +
      `"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"${plan.finishReason}"}`;
  });
  const usage = chatUsage(plan, control, vendor);
  return (
    `{"id":"${plan.id}","object":"chat.completion","created":${plan.createdSeconds},"model":"${plan.answerModel}",` +
    `"choices":[${choices}],${usage === undefined ? "" : `"usage":${usage},`}` +
    `"service_tier":"${plan.serviceTier}","system_fingerprint":"fp_sandbox"}`
  );
}

function toolCallsField(plan: ChatPlan, tokens: number, choice: number): string {
  const shares = shareOut(tokens, plan.toolCalls.length);
  const calls = plan.toolCalls.map((name, index) => {
    const share = shares[index] ?? 0;
    const id = toolCallId(plan, choice, index);
    return { id, type: "function", function: { name, arguments: toolArguments(plan.text, 0, share, share) } };
  });
  return `"content":null,"tool_calls":${JSON.stringify(calls)}`;
}
