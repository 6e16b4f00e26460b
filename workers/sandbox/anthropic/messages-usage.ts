/** Usage as Anthropic counts it: `input_tokens` leaves out what was read from the cache or written to it. */
import type { SandboxControl } from "../control-fields";
import type { MessagesPlan } from "./messages-plan";

/** The usage object, or that of the fault that hides or zeroes it; undefined where it is missing. */
export function messagesUsage(
  plan: MessagesPlan,
  control: SandboxControl,
  outputTokens = plan.completionTokens,
): object | undefined {
  if (control.usage !== undefined) return control.usage;
  if (control.fault === "no_usage") return undefined;
  if (control.fault === "zero_usage") return { input_tokens: 0, output_tokens: 0 };
  const { promptTokens, cachedTokens, extras = {} } = plan;
  const written5m = extras.cacheWriteTokens ?? 0;
  const written1h = extras.cacheWrite1hTokens ?? 0;
  return {
    input_tokens: promptTokens - cachedTokens - written5m - written1h,
    cache_creation_input_tokens: written5m + written1h,
    cache_read_input_tokens: cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: Math.min(plan.thinkingTokens, outputTokens) },
    server_tool_use:
      extras.searches === undefined ? null : { web_search_requests: extras.searches, web_fetch_requests: 0 },
    service_tier: plan.serviceTier,
    inference_geo: plan.inferenceGeo ?? null,
  };
}
