/**
 * Calls of one shape to models of the other: OpenAI chat to Anthropic messages and back, where both mean the same
 * (lib/translate). What a provider used is read from its own answer, before it is translated.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { anthropicAnswer, openAiAnswer } from "@/lib/translate/answers";
import { anthropicRequest } from "@/lib/translate/anthropic-request";
import { AnthropicStreamWriter } from "@/lib/translate/anthropic-stream";
import { openAiRequest } from "@/lib/translate/openai-request";
import { OpenAiStreamWriter } from "@/lib/translate/openai-stream";
import { capField } from "../wire/routes/upstream-patches";
import type { RouteKind, RouteRequest } from "../wire/routes/route-request";
import { isFormRequest } from "../wire/routes/route-request";

/** Into which route a body is translated, and how its stream and answer are read there. */
export interface Translation {
  readonly route: "messages" | "chat/completions";
  readonly kind: Extract<RouteKind, "chat" | "messages">;
}

/** By the route of the client. */
export const TRANSLATIONS: Readonly<Partial<Record<string, Translation>>> = {
  "chat/completions": { route: "messages", kind: "messages" },
  messages: { route: "chat/completions", kind: "chat" },
};

/** The body in the other shape for a model there, as JSON; a denial names the field that has no counterpart. */
export function translatedBody(
  request: RouteRequest,
  translation: Translation,
  to: { readonly upstreamModel: string; readonly outputCap: number; readonly vendor: string },
): string | Denial {
  if (isFormRequest(request)) return denial("invalid_request", { detail: "the body must be JSON" });
  const body = { ...request.body, model: to.upstreamModel };
  const cap = capField("chat", to.vendor) === "max_completion_tokens" ? "max_completion_tokens" : "max_tokens";
  const made = translation.kind === "messages" ? anthropicRequest(body, to.outputCap) : openAiRequest(body, cap);
  return isDenial(made) ? made : JSON.stringify(made);
}

/** A whole answer in the client's shape; undefined where it cannot be carried over. */
export function translatedAnswer(
  bytes: Uint8Array,
  translation: Translation,
  createdSeconds: number,
): string | undefined {
  try {
    const answer: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return JSON.stringify(
      translation.kind === "messages" ? openAiAnswer(answer, createdSeconds) : anthropicAnswer(answer),
    );
  } catch {
    return undefined;
  }
}

export interface StreamWriter {
  /** Text for the client; "" where there is nothing to say. */
  push(data: string): string;
  end(): string;
}

export function streamWriter(translation: Translation, createdSeconds: number, wantsUsage: boolean): StreamWriter {
  if (translation.kind === "chat") return new AnthropicStreamWriter();
  const writer = new OpenAiStreamWriter({ createdSeconds, wantsUsage });
  return { push: (data) => writer.push(data), end: () => "" };
}
