/** /v1/files: upload, list, read, content, delete. Files cost nothing. */
import { Buffer } from "node:buffer";
import { answerBytes, answerJson } from "../answer";
import { requiredText } from "../body-fields";
import { RequestError } from "../errors";
import type { Exchange } from "../exchange";
import { Upload } from "../form";
import type { Shelves, StoredFile } from "../shelves";

export function handleUpload(exchange: Exchange): void {
  const { body, callId, receivedAtMs, shelves } = exchange;
  const purpose = requiredText(body, "purpose");
  if (!(body.file instanceof Upload)) {
    throw new RequestError(400, "missing_required_parameter", "Missing required parameter: 'file'.", "file");
  }
  const { filename, bytes } = body.file;
  const createdSeconds = Math.floor(receivedAtMs / 1000);
  const file = { id: `file-${callId}`, filename, purpose, createdSeconds, bytes };
  shelves.files.put(file.id, file);
  answerJson(exchange, undefined, JSON.stringify(fileObject(file)));
}

export function handleListFiles(exchange: Exchange): void {
  const purpose = exchange.request.query().get("purpose");
  const files = exchange.shelves.files.all().filter((file) => purpose === null || file.purpose === purpose);
  answerJson(exchange, undefined, pageOf(exchange, files, fileObject));
}

export function handleReadFile(exchange: Exchange): void {
  answerJson(exchange, undefined, JSON.stringify(fileObject(fileOfPath(exchange))));
}

export function handleFileContent(exchange: Exchange): void {
  answerBytes(exchange, undefined, fileOfPath(exchange).bytes, "application/octet-stream");
}

export function handleDeleteFile(exchange: Exchange): void {
  const { id } = fileOfPath(exchange);
  exchange.shelves.files.delete(id);
  answerJson(exchange, undefined, JSON.stringify({ id, object: "file", deleted: true }));
}

/** Keeps what a batch has written; undefined for nothing. */
export function keepLines(
  shelves: Shelves,
  id: string,
  createdSeconds: number,
  lines: readonly string[],
): string | undefined {
  if (lines.length === 0) return undefined;
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  shelves.files.put(id, { id, filename: `${id}.jsonl`, purpose: "batch_output", createdSeconds, bytes });
  return id;
}

/** A page of a list: `limit` things after the one named `after`. */
export function pageOf<Kept extends { readonly id: string }>(
  { request }: Exchange,
  things: readonly Kept[],
  toObject: (thing: Kept) => object,
): string {
  const query = request.query();
  const after = query.get("after");
  const start = after === null ? 0 : things.findIndex((thing) => thing.id === after) + 1;
  const page = things.slice(start, start + Number(query.get("limit") ?? 20));
  return JSON.stringify({
    object: "list",
    data: page.map(toObject),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < things.length,
  });
}

function fileOfPath({ params, shelves }: Exchange): StoredFile {
  const id = params[0] ?? "";
  const file = shelves.files.get(id);
  if (file === undefined) throw new RequestError(404, null, `No such File object: ${id}`, "id");
  return file;
}

function fileObject({ id, filename, purpose, createdSeconds, bytes }: StoredFile): object {
  return {
    id,
    object: "file",
    bytes: bytes.length,
    created_at: createdSeconds,
    filename,
    purpose,
    status: "processed",
  };
}
