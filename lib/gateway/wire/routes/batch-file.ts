/**
 * Lines of a batch file (OpenAI API reference: batch input, `{custom_id, method, url, body}`): what each call in it may cost is
 * reserved when the batch is made. Read as a stream, one line in memory at a time.
 */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import { scanJson } from "../json-scan";
import { isBody } from "./fields";
import type { JsonRequest } from "./route-request";
import { routeAt } from "./route-table";

export interface BatchLine {
  readonly customId: string;
  readonly route: string;
  readonly request: JsonRequest;
}

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const LF = 10;

/** Lines of a byte stream, without their ends; throws RangeError where one is too long. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let pending: Uint8Array[] = [];
  let length = 0;
  const take = (): string => {
    const line = pending.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
    pending = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      pending.push(chunk.subarray(from, at));
      from = at + 1;
      yield take();
    }
    pending.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_LINE_BYTES) throw new RangeError("line too long");
  }
  yield take();
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
  if (method !== "POST") return invalid("method must be POST", "method");
  const path = typeof url === "string" && url.startsWith("/v1/") ? url.slice(4) : "";
  const route = routeAt(path, "");
  const span = scan.members.get("body");
  if (!route?.parseJson || route.protocol !== "openai") return invalid("url must be a route that is governed", "url");
  if (!span) return invalid("body must be an object", "body");
  const request = route.parseJson(new TextEncoder().encode(text.slice(span.start, span.end)));
  if (isDenial(request)) return request;
  if (request.isStream) return invalid("stream must be false in a batch", "stream");
  return { customId, route: route.route, request };
}

/** One by one; ends with a denial that names the line where one is not valid. Empty lines are skipped. */
export async function* batchLines(chunks: AsyncIterable<Uint8Array>): AsyncIterable<BatchLine | Denial> {
  let number = 0;
  try {
    for await (const text of linesOf(chunks)) {
      number += 1;
      if (text.trim() === "") continue;
      const line = readLine(text);
      if (isDenial(line)) {
        yield { ...line, detail: `line ${number}: ${line.detail ?? "not valid"}` };
        return;
      }
      yield line;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    yield denial("request_too_large", { detail: `line ${number + 1}: at most ${MAX_LINE_BYTES} bytes` });
  }
}
