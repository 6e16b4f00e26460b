/** POST /v1/chat/completions: words the planned answer as OpenAI does, as one JSON body or as a stream. */
import { answerJson } from "./answer";
import { type ChatPlan, planChat, usageJson } from "./chat-plan";
import type { SandboxControl } from "./control";
import type { Exchange } from "./exchange";
import { streamChat } from "./stream";
import { answerText } from "./tokens";

export function handleChat(exchange: Exchange): void {
  const plan = planChat(exchange);
  if (plan.stream) streamChat(exchange, plan);
  else answerJson(exchange, plan, completionJson(plan, exchange.control));
}

function completionJson(plan: ChatPlan, control: SandboxControl): string {
  let choices = "";
  plan.choices.forEach((tokens, index) => {
    choices +=
      `${index === 0 ? "" : ","}{"index":${index},"message":{"role":"assistant","content":"${answerText(0, tokens)}",` +
      `"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"${plan.finishReason}"}`;
  });
  const usage = usageJson(plan, control);
  return (
    `{"id":"${plan.id}","object":"chat.completion","created":${plan.createdSeconds},"model":"${plan.model.id}",` +
    `"choices":[${choices}],${usage === undefined ? "" : `${usage},`}` +
    `"service_tier":"default","system_fingerprint":"fp_sandbox"}`
  );
}
