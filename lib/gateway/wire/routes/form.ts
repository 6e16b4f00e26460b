/**
 * A multipart form with its files outside of memory. The form is read to its end before anything is decided, because SDKs
 * put the file first and the model after it, and written out again with a boundary of ours: what is priced is what is sent,
 * whatever two parsers would make of one ambiguous body. The bytes of files are not touched; a refused call has sent
 * nothing; a second attempt can send the same form.
 */

/** Somewhere to put bytes that are too many for memory, such as a temporary file. */
export interface Spool {
  write(chunk: Uint8Array): Promise<void>;
  /** All bytes, from the beginning, each time. */
  read(): AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

export type OpenSpool = () => Spool;

export interface FieldPart {
  readonly kind: "field";
  readonly name: string;
  readonly value: string;
}

export interface FilePart {
  readonly kind: "file";
  readonly name: string;
  readonly filename: string | undefined;
  readonly mimeType: string;
  readonly bytes: number;
  /** The first bytes, enough for a header. */
  readonly head: Uint8Array;
  read(): AsyncIterable<Uint8Array>;
}

export type FormPart = FieldPart | FilePart;

export interface Form {
  readonly parts: readonly FormPart[];
  /** Frees what is spooled. */
  discard(): Promise<void>;
}

const encoder = new TextEncoder();

/** As browsers escape names in Content-Disposition (HTML standard, multipart/form-data). */
function quoted(text: string): string {
  return `"${text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22")}"`;
}

/** A media type is only a token and parameters; anything else could end the header. */
function safeType(mimeType: string): string {
  return /^[\w.+-]+\/[\w.+-]+$/u.test(mimeType) ? mimeType : "application/octet-stream";
}

function headOf(part: FormPart, boundary: string): Uint8Array {
  let head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(part.name)}`;
  if (part.kind === "file") {
    head += `; filename=${quoted(part.filename ?? "file")}\r\nContent-Type: ${safeType(part.mimeType)}`;
  }
  return encoder.encode(`${head}\r\n\r\n`);
}

const LINE_END = encoder.encode("\r\n");

/** Fields by name that go out with another value; those not in the form are added. */
export type FieldPatches = Readonly<Record<string, string>>;

function patched(form: Form, patches: FieldPatches): readonly FormPart[] {
  const names = new Set(form.parts.flatMap((part) => (part.kind === "field" ? [part.name] : [])));
  const added = Object.entries(patches)
    .filter(([name]) => !names.has(name))
    .map(([name, value]): FieldPart => ({ kind: "field", name, value }));
  const kept = form.parts.map((part) => {
    const value = part.kind === "field" ? patches[part.name] : undefined;
    return part.kind === "field" && value !== undefined ? { ...part, value } : part;
  });
  return [...added, ...kept];
}

export interface WrittenForm {
  readonly contentType: string;
  readonly contentLength: number;
  chunks(): AsyncIterable<Uint8Array>;
}

/** `boundary` must not be foreseeable, or a file could hold it. */
export function writeForm(form: Form, patches: FieldPatches, boundary: string): WrittenForm {
  const parts = patched(form, patches);
  const end = encoder.encode(`--${boundary}--\r\n`);
  const sizes = parts.map((part) => {
    const body = part.kind === "file" ? part.bytes : encoder.encode(part.value).length;
    return headOf(part, boundary).length + body + LINE_END.length;
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    contentLength: sizes.reduce((sum, size) => sum + size, end.length),
    async *chunks() {
      for (const part of parts) {
        yield headOf(part, boundary);
        if (part.kind === "file") yield* part.read();
        else yield encoder.encode(part.value);
        yield LINE_END;
      }
      yield end;
    },
  };
}
