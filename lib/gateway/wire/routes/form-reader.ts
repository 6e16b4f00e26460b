/** Reads a multipart body with busboy, within limits: fields into memory, files into a store each. */
import busboy from "busboy";
import type { Denial } from "@/lib/domain/denial";
import { denial } from "@/lib/domain/denial";
import { FileStore } from "./file-store";
import type { FieldPart, FilePart, Form, FormPart, OpenSpool } from "./form";

export interface FormLimits {
  readonly maxBytes: number;
  /** Of one file, before it is spooled. */
  readonly memoryBytes: number;
}

const MAX_FIELDS = 100;
const MAX_FILES = 20;
const MAX_FIELD_BYTES = 1024 * 1024;
const MAX_NAME_BYTES = 200;
const PARSER_LIMITS = {
  fields: MAX_FIELDS,
  files: MAX_FILES,
  fieldSize: MAX_FIELD_BYTES,
  fieldNameSize: MAX_NAME_BYTES,
  headerPairs: 20,
};

/** What the caller did wrong; anything else that goes wrong is thrown on. */
class FormError extends Error {}
class TooLarge extends Error {}

const NOT_WHOLE = "the form is not whole";

interface FileEvent {
  readonly name: string;
  readonly filename: string | undefined;
  readonly mimeType: string;
  readonly store: FileStore;
}

function filePart({ name, filename, mimeType, store }: FileEvent): FilePart {
  return { kind: "file", name, filename, mimeType, bytes: store.bytes, head: store.head, read: () => store.read() };
}

class FormReading {
  private readonly parts: (FieldPart | FileEvent)[] = [];
  private readonly files: Promise<void>[] = [];
  private problem: Error | undefined;
  private wake: () => void = () => undefined;

  constructor(
    private readonly parser: busboy.Busboy,
    private readonly limits: FormLimits,
    private readonly openSpool: OpenSpool,
  ) {
    parser.on("field", (name, value, info) => {
      if (info.nameTruncated || info.valueTruncated) this.fail(new FormError("a form field is too long"));
      this.parts.push({ kind: "field", name, value });
    });
    parser.on("file", (name, stream, info) => {
      const store = new FileStore(this.limits.memoryBytes, this.openSpool);
      this.parts.push({ name, filename: info.filename, mimeType: info.mimeType, store });
      const stored = this.storeFile(stream, store);
      // Awaited at the end; a rejection must not be unhandled until then.
      stored.catch(() => {
        this.fail(new FormError(NOT_WHOLE));
      });
      this.files.push(stored);
    });
    for (const limit of ["fieldsLimit", "filesLimit"] as const)
      parser.on(limit, () => {
        this.fail(new FormError("the form has too many parts"));
      });
    parser.on("error", () => {
      this.fail(new FormError(NOT_WHOLE));
    });
  }

  /** The first problem counts. Whoever waits for the parser is woken: after a problem it may never answer. */
  private fail(error: unknown): void {
    this.problem ??= error instanceof Error ? error : new Error("spool failed", { cause: error });
    this.wake();
  }

  private async storeFile(stream: AsyncIterable<Uint8Array>, store: FileStore): Promise<void> {
    for await (const chunk of stream) {
      await store.add(chunk).catch((error: unknown) => {
        this.fail(error);
        throw error;
      });
    }
  }

  /** Waits until `step` calls back, or until there is a problem, which is thrown. */
  private async step(step: (done: () => void) => void): Promise<void> {
    if (!this.problem)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        step(resolve);
      });
    if (this.problem) throw this.problem;
  }

  /** Throws where the body is not a whole form or exceeds a limit. */
  async run(chunks: AsyncIterable<Uint8Array>): Promise<readonly FormPart[]> {
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > this.limits.maxBytes) throw new TooLarge();
      await this.step((done) => this.parser.write(chunk, done));
    }
    await this.step((done) => this.parser.once("close", done).end());
    await Promise.all(this.files);
    if (this.problem) throw this.problem;
    return this.parts.map((part) => ("store" in part ? filePart(part) : part));
  }

  async discard(): Promise<void> {
    this.parser.destroy();
    await Promise.allSettled(this.files);
    for (const part of this.parts) if ("store" in part) await part.store.discard();
  }
}

function openParser(contentType: string): busboy.Busboy | undefined {
  if (!/^multipart\/form-data\s*;/iu.test(contentType)) return undefined;
  try {
    return busboy({
      headers: { "content-type": contentType },
      limits: PARSER_LIMITS,
      defParamCharset: "utf8",
      preservePath: true,
    });
  } catch {
    return undefined;
  }
}

/** The whole form, or what is wrong with it. What was spooled of a refused form is gone. Throws what the source of the body or the spool throws. */
export async function readForm(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
  limits: FormLimits,
  openSpool: OpenSpool,
): Promise<Form | Denial> {
  const parser = openParser(contentType);
  if (!parser) return denial("invalid_request", { detail: "the body must be multipart/form-data with a boundary" });
  const reading = new FormReading(parser, limits, openSpool);
  try {
    const parts = await reading.run(chunks);
    return { parts, discard: () => reading.discard() };
  } catch (error) {
    await reading.discard();
    if (error instanceof TooLarge) return denial("request_too_large", { detail: `at most ${limits.maxBytes} bytes` });
    if (error instanceof FormError) return denial("invalid_request", { detail: error.message });
    throw error;
  }
}
