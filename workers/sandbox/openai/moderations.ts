/** POST /v1/moderations: free, but on the bill with nothing to pay. A text with the word "kill" is flagged. */
import { answerJson } from "../answer";
import { isRecord, modelField } from "../body-fields";
import { missingField } from "../errors";
import type { Call, Exchange, Metered } from "../exchange";

const DEFAULT_MODEL = "sandbox-moderation";
const CATEGORIES = [
  ...["harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent"],
  ...["self-harm", "self-harm/intent", "self-harm/instructions", "sexual", "sexual/minors"],
  ...["violence", "violence/graphic"],
];

export function handleModerations(exchange: Exchange): void {
  const { metered, json } = moderationsAnswer(exchange);
  answerJson(exchange, metered, json);
}

export function moderationsAnswer({ body, callId }: Call): { metered: Metered; json: string } {
  const model = modelField({ model: body.model ?? DEFAULT_MODEL }, "moderations");
  if (body.input === undefined || body.input === null) throw missingField("input");
  const counts = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  const results = textsOf(body.input).map(resultOf);
  return {
    metered: { model, stream: false, ...counts },
    json: JSON.stringify({ id: `modr-${callId}`, model: model.id, results }),
  };
}

/** One text, a text each of a list, or the texts of one message with pictures. */
function textsOf(input: unknown): string[] {
  if (!Array.isArray(input)) return [String(input)];
  if (input.some(isRecord)) return [JSON.stringify(input)];
  return input.map(String);
}

function resultOf(text: string): object {
  const flagged = /\bkill/i.test(text);
  const hits = (category: string) => flagged && category === "violence";
  return {
    flagged,
    categories: Object.fromEntries(CATEGORIES.map((each) => [each, hits(each)])),
    category_scores: Object.fromEntries(CATEGORIES.map((each) => [each, hits(each) ? 0.98 : 0.0001])),
    category_applied_input_types: Object.fromEntries(CATEGORIES.map((each) => [each, ["text"]])),
  };
}
