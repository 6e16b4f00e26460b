/**
 * Lines of a batch file (OpenAI API reference: batch input, `{custom_id, method, url, body}`): what each call in it may cost is
 * reserved when the batch is made. Read as a stream, one line in memory at a time.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { linesOf, LineTooLong } from "@/lib/domain/text-lines";
import type { JsonScan } from "../json-scan";
import { patchJson, scanJson } from "../json-scan";
import { isBody } from "./fields";
import type { GovernedRoute } from "./governed-routes";
import { governedRoute } from "./governed-routes";
import type { JsonRequest } from "./route-request";

/** Routes whose calls cost tokens and nothing else, so that sums over lines bound them. */
export const BATCH_ROUTES: readonly string[] = [
  "chat/completions",
  "responses",
  "completions",
  "embeddings",
  "moderations",
];

export interface BatchLine {
  readonly customId: string;
  readonly route: GovernedRoute;
  readonly request: JsonRequest;
  /** The line as it came, and the place of its members. */
  readonly text: string;
  readonly scan: JsonScan;
}

const MAX_LINE_BYTES = 20 * 1024 * 1024;
const MAX_ID_LENGTH = 512;

/** The governed route of a batch's `endpoint` or a line's `url`; undefined where batches of it are not served. */
export function batchRoute(url: unknown): GovernedRoute | undefined {
  const path = typeof url === "string" && url.startsWith("/v1/") ? url.slice("/v1/".length) : "";
  return BATCH_ROUTES.includes(path) ? governedRoute(path, "") : undefined;
}

/** The line with another body. */
export function withBody({ text, scan }: BatchLine, body: string): string {
  return patchJson(text, scan, { body });
}

function readLine(text: string): BatchLine | Denial {
  const invalid = (detail: string, param?: string) =>
    denial("invalid_request", { detail, ...(param === undefined ? {} : { param }) });
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return invalid("it is not JSON");
  }
  if (!isBody(line)) return invalid("it must be an object");
  const scan = scanJson(text);
  if (scan.duplicate !== undefined) return invalid("a name occurs twice in one object", scan.duplicate.slice(0, 100));
  const { custom_id: customId, method, url } = line;
  if (typeof customId !== "string" || customId === "") return invalid("custom_id must be a text", "custom_id");
  if (customId.length > MAX_ID_LENGTH) return invalid("custom_id is too long", "custom_id");
  if (method !== "POST") return invalid("method must be POST", "method");
  const route = batchRoute(url);
  const span = scan.members.get("body");
  if (!route?.parseJson) return invalid("url must be a route that is governed", "url");
  if (!span) return invalid("body must be an object", "body");
  const request = route.parseJson(new TextEncoder().encode(text.slice(span.start, span.end)));
  if (isDenial(request)) return request;
  if (request.isStream) return invalid("stream must be false in a batch", "stream");
  return { customId, route, request, text, scan };
}

/** A denial that names the line. */
export function ofLine(found: Denial, number: number): Denial {
  return { ...found, detail: `line ${String(number)}: ${found.detail ?? "not valid"}` };
}

/** One by one, with their numbers; ends with a denial that names the line where one is not valid. Empty lines are skipped. */
export async function* batchLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncIterable<{ readonly number: number; readonly line: BatchLine } | Denial> {
  let number = 0;
  try {
    for await (const text of linesOf(chunks, MAX_LINE_BYTES)) {
      number += 1;
      if (text.trim() === "") continue;
      const line = readLine(text);
      if (isDenial(line)) {
        yield ofLine(line, number);
        return;
      }
      yield { number, line };
    }
  } catch (error) {
    if (!(error instanceof LineTooLong)) throw error;
    yield denial("request_too_large", {
      detail: `line ${String(number + 1)}: at most ${String(error.maxBytes)} bytes`,
    });
  }
}
