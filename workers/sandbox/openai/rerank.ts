/**
 * POST /v1/rerank, as Cohere (search units in `meta.billed_units`) and as Jina and vLLM (tokens in `usage`), by the
 * model. A search unit is one query with up to 100 documents; a document counts once more for every 500 tokens.
 */
import { answerJson } from "../answer";
import { type Body, integerField, isRecord, modelField, requiredText } from "../body-fields";
import { missingField, RequestError } from "../errors";
import type { Exchange, Metered } from "../exchange";
import { countInputTokens } from "../tokens";

const DOCUMENTS_PER_UNIT = 100;
const TOKENS_PER_DOCUMENT = 500;

export function handleRerank(exchange: Exchange): void {
  const { body, control, callId } = exchange;
  const model = modelField(body, "rerank");
  const query = requiredText(body, "query");
  const documents = documentsOf(body);
  const ranked = documents
    .map((text, index) => ({ index, relevance_score: scoreOf(query, text), document: { text } }))
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, integerField(body, "top_n") ?? documents.length);
  const results =
    body.return_documents === false ? ranked.map(({ index, relevance_score }) => ({ index, relevance_score })) : ranked;
  const counts = { cachedTokens: 0, completionTokens: 0 };
  if (model.unitPrices?.searchUnits !== undefined) {
    const searchUnits = searchUnitsOf(documents);
    const metered: Metered = { model, stream: false, ...counts, promptTokens: 0, extras: { searchUnits } };
    const billed = control.fault === "no_usage" ? {} : { billed_units: control.usage ?? { search_units: searchUnits } };
    const meta = { api_version: { version: "2" }, ...billed };
    answerJson(exchange, metered, JSON.stringify({ id: callId, results, meta }));
    return;
  }
  const counted = documents.reduce((sum, text) => sum + countInputTokens(query) + countInputTokens(text), 0);
  const promptTokens = control.promptTokens ?? counted;
  const told = control.usage ?? { prompt_tokens: promptTokens, total_tokens: promptTokens };
  const usage = control.fault === "no_usage" ? undefined : told;
  const answer = { id: callId, model: model.id, object: "list", results, usage };
  answerJson(exchange, { model, stream: false, ...counts, promptTokens }, JSON.stringify(answer));
}

function documentsOf({ documents }: Body): string[] {
  if (!Array.isArray(documents) || documents.length === 0) throw missingField("documents");
  return documents.map((document: unknown) => {
    const text = isRecord(document) ? document.text : document;
    if (typeof text === "string") return text;
    throw new RequestError(400, "invalid_type", "Each document must be a text or have one.", "documents");
  });
}

function searchUnitsOf(documents: readonly string[]): number {
  const parts = documents.reduce(
    (sum, text) => sum + Math.max(1, Math.ceil(countInputTokens(text) / TOKENS_PER_DOCUMENT)),
    0,
  );
  return Math.ceil(parts / DOCUMENTS_PER_UNIT);
}

/** Share of the query's words that the document has. */
function scoreOf(query: string, text: string): number {
  const words = new Set(text.toLowerCase().split(/\W+/));
  const wanted = query.toLowerCase().split(/\W+/).filter(Boolean);
  return wanted.filter((word) => words.has(word)).length / Math.max(1, wanted.length);
}
