/** The response object of OpenAI's Responses API in each of its states. */
import type { SandboxControl } from "../control-fields";
import { askedFailure } from "../errors";
import { toolArguments } from "../tokens";
import type { OutputItem, ResponsePlan } from "./responses-plan";

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** How a response ends if nobody stops it. */
export function finalStatus(plan: ResponsePlan, control: SandboxControl): ResponseStatus {
  if (control.fault === "failed_response") return "failed";
  return plan.incompleteReason === undefined ? "completed" : "incomplete";
}

export function responseObject(plan: ResponsePlan, control: SandboxControl, status: ResponseStatus): object {
  const { body } = plan;
  const hasAnswer = status === "completed" || status === "incomplete";
  const usage = hasAnswer ? responseUsage(plan, control) : null;
  return {
    id: plan.id,
    object: "response",
    created_at: plan.createdSeconds,
    status,
    background: plan.isBackground,
    error: status === "failed" ? failureOf(control) : null,
    incomplete_details: status === "incomplete" ? { reason: plan.incompleteReason } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: plan.maxOutputTokens ?? null,
    metadata: body.metadata ?? {},
    model: plan.answerModel,
    output: hasAnswer ? outputItems(plan, status === "completed" ? "completed" : "incomplete") : [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    service_tier: hasAnswer ? plan.serviceTier : "auto",
    store: plan.isStored,
    temperature: 1,
    text: body.text ?? { format: { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: 1,
    truncation: "disabled",
    ...(usage === undefined ? {} : { usage }),
  };
}

function failureOf(control: SandboxControl): object {
  const { code, message } = askedFailure(control, "openai");
  return { code: code ?? "server_error", message };
}

function outputItems(plan: ResponsePlan, status: "completed" | "incomplete"): object[] {
  const reasoning = plan.reasoningTokens > 0 ? [reasoningItem(plan)] : [];
  return [...reasoning, ...plan.items.map((item) => outputItem(plan, item, status))];
}

export function reasoningItem({ callId }: ResponsePlan): object {
  return { id: `rs_${callId}`, type: "reasoning", summary: [] };
}

/** An item in progress is still empty. */
export function outputItem(
  plan: ResponsePlan,
  { id, tokens, functionName }: OutputItem,
  status: "in_progress" | "completed" | "incomplete",
): object {
  const isEmpty = status === "in_progress";
  if (functionName !== undefined) {
    const whole = isEmpty ? "" : toolArguments(plan.text, 0, tokens, tokens);
    return { id, type: "function_call", status, arguments: whole, call_id: `call_${id}`, name: functionName };
  }
  const content = isEmpty ? [] : [textPart(plan.text(0, tokens))];
  return { id, type: "message", status, content, role: "assistant" };
}

export function textPart(text: string): object {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

/** The usage object, or that of the fault that hides or zeroes it; undefined where it is missing. */
function responseUsage(plan: ResponsePlan, control: SandboxControl): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  const isZero = control.fault === "zero_usage";
  const { cacheWriteTokens } = control;
  const input = isZero ? 0 : plan.promptTokens;
  const output = isZero ? 0 : plan.completionTokens;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: isZero ? 0 : plan.cachedTokens,
      ...(cacheWriteTokens === undefined ? {} : { cache_write_tokens: cacheWriteTokens }),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: isZero ? 0 : plan.reasoningTokens },
    total_tokens: input + output,
  };
}
