/** Reads multipart/form-data into the fields of a body: texts, uploads, and lists of either for names that repeat. */
import { Buffer } from "node:buffer";
import type { Body } from "./body-fields";
import { RequestError } from "./errors";
import type { HttpRequest } from "./http-request";

export class Upload {
  constructor(
    readonly filename: string,
    readonly contentType: string,
    readonly bytes: Buffer,
  ) {}
}

/** Fields that are numbers or switches in JSON. */
const TYPED_FIELDS = new Set(["n", "partial_images", "output_compression", "stream"]);

export function isForm(request: HttpRequest): boolean {
  return request.header("content-type")?.toLowerCase().startsWith("multipart/form-data") === true;
}

/** Rejects with `RequestError` for a body that is no form. */
export async function readForm(request: HttpRequest): Promise<Body> {
  const headers = { "content-type": request.header("content-type") ?? "" };
  let form: FormData;
  try {
    form = await new Response(new Uint8Array(request.bytes), { headers }).formData();
  } catch {
    throw new RequestError(400, null, "Could not parse multipart form.");
  }
  const body: Record<string, unknown> = {};
  for (const name of new Set(form.keys())) {
    const values = await Promise.all(form.getAll(name).map((value) => readValue(name, value)));
    body[name.replace(/\[\]$/, "")] = name.endsWith("[]") || values.length > 1 ? values : values[0];
  }
  return body;
}

async function readValue(name: string, value: File | string): Promise<unknown> {
  if (typeof value !== "string") return new Upload(value.name, value.type, Buffer.from(await value.arrayBuffer()));
  if (!TYPED_FIELDS.has(name)) return value;
  if (value === "true" || value === "false") return value === "true";
  return /^\d{1,9}$/.test(value) ? Number(value) : value;
}
