/**
 * Whether all that a call is billed for comes by in its stream, so that its hold may follow it. Thoughts that a vendor bills
 * and does not show (OpenAI: reasoning models; Anthropic: summarised thinking; Gemini: thinking models; xAI: Grok 4 - their
 * documents on reasoning), guesses that were rejected (OpenAI: predicted outputs) and tools at the provider are made unseen. A
 * deployment that stated more than had been held for it is believed no more by this process.
 */
import type { Held } from "../exchange";
import type { ServingFacts } from "../serving";
import type { RouteKind, RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";

const KINDS: ReadonlySet<RouteKind> = new Set(["chat", "completion", "responses", "messages", "gemini"]);

/** By vendor, where a name may be anything (a deployment of Azure) or new models are likely to think: only these do not. */
const PLAIN_MODELS: Readonly<Partial<Record<string, RegExp>>> = {
  openai: /^(gpt-4|gpt-3\.5|chatgpt-4o|davinci|babbage)/u,
  azure: /^(gpt-4|gpt-3\.5|gpt-35|chatgpt-4o)/u,
  gemini: /^gemini-(1\.|2\.0)/u,
};
/** Of vendors who show what is thought, and of those who pass on other vendors' models. */
const THINKING_MODEL =
  /(?:^|[/.:@])(?:o[1-9](?:-|$)|gpt-[5-9]|codex|gemini-(?!1\.|2\.0)|grok-[4-9]|sonar-reasoning|sonar-deep)/u;

/** Members of a body that ask for output which is not shown, or not all of it. */
const UNSEEN_MEMBERS = ["thinking", "reasoning", "reasoning_effort", "prediction", "best_of"];

function asksForUnseen(body: Readonly<Record<string, unknown>>): boolean {
  return UNSEEN_MEMBERS.some((name) => {
    const value = body[name];
    const isOff = value === undefined || value === null || value === "none" || value === 1;
    const isDisabled = typeof value === "object" && value !== null && "type" in value && value.type === "disabled";
    return !isOff && !isDisabled;
  });
}

function mayThinkUnseen({ model, target }: ServingFacts): boolean {
  const plain = PLAIN_MODELS[target.adapter.vendor];
  const { upstreamModel } = target.deployment;
  if (plain) return !plain.test(upstreamModel) && !(target.adapter.vendor === "azure" && plain.test(model.name));
  return THINKING_MODEL.test(upstreamModel);
}

const MAX_NOTED = 10_000;
const noted = new Set<string>();

/** A deployment billed more output than was held for what it had shown. */
export function noteUnseen(deploymentId: string): void {
  if (noted.size < MAX_NOTED) noted.add(deploymentId);
}

export function showsAllOutput(request: RouteRequest, serving: ServingFacts): boolean {
  if (!request.isStream || isFormRequest(request) || !KINDS.has(request.kind)) return false;
  const { extras } = request;
  // It is made whole, whoever listens.
  if (extras.isBackground) return false;
  if (request.extraOutput > 0 || extras.hasAudioOutput || extras.images !== null || extras.toolFees.length > 0) {
    return false;
  }
  return !asksForUnseen(request.body) && !mayThinkUnseen(serving) && !noted.has(serving.target.id);
}

/**
 * Whether a stream is broken off where its client leaves. The policy may say so, and what was produced by then has to be there to
 * be counted: of what is made unseen only the end of the stream tells, so that leaving early would make it free.
 */
export function isCutShort({ caller, request, serving }: Held): boolean {
  return caller.chain.policy.clientGone === "cut" && showsAllOutput(request, serving);
}
