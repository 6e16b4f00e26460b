/** The answer of a rung that serves a fixed text: the policy's, in the caller's language, in the shape of the route. */
import type { Received } from "../exchange";
import type { Refused } from "../hold";
import type { ErrorContext, Refusal } from "./error-response";
import type { Language } from "./messages";
import { headerName } from "./response-headers";
import { staticAnswer } from "./routes/static-answer";

const DEFAULT_TEXTS: Readonly<Record<Language, string>> = {
  en: "This service is busy right now. Please try again later.",
  "zh-CN": "服务繁忙，请稍后再试。",
};

function textFor(texts: Readonly<Record<string, string>>, language: Language): string {
  return (
    texts[language] ?? texts[language.slice(0, 2)] ?? texts.en ?? Object.values(texts)[0] ?? DEFAULT_TEXTS[language]
  );
}

/** Undefined for routes whose answer is not text: there the rung refuses. */
export function fixedAnswer(refused: Refused, received: Received, context: ErrorContext): Refusal | undefined {
  const { caller, request, refusal } = refused;
  if (!caller || !request) return undefined;
  const answer = staticAnswer(request.kind, {
    text: textFor(caller.chain.policy.staticText, context.language),
    model: request.model,
    id: received.requestId.replace(/^req_/u, ""),
    createdSeconds: Math.floor(received.startedMs / 1000),
    isStream: request.isStream,
    wantsUsage: request.wantsUsage,
  });
  if (!answer) return undefined;
  const headers: Record<string, string> = {
    "content-type": answer.contentType,
    "x-request-id": received.requestId,
    "x-spillway-decision": "static",
    "x-spillway-requested-model": headerName(request.model),
    "x-spillway-cost": "0",
    "x-spillway-currency": caller.view.organisation.currency,
  };
  if (refusal.rungBasisPoints !== undefined) headers["x-spillway-rung"] = String(refusal.rungBasisPoints / 100);
  return { status: 200, code: "static_answer", answer: { status: 200, headers, body: answer.body } };
}
