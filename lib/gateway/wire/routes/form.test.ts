import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDenial } from "@/lib/domain/denial";
import { audioSecondsBound } from "./audio-length";
import type { Form, FormPart, Spool } from "./form";
import { writeForm } from "./form";
import { readForm } from "./form-reader";
import { routeAt } from "./route-table";
import { formPatches } from "./upstream-patches";

/** A spool that counts, so that a test can tell where bytes went and whether they were freed. */
class CountedSpool implements Spool {
  chunks: Uint8Array[] = [];
  isDiscarded = false;
  async write(chunk: Uint8Array): Promise<void> {
    this.chunks.push(chunk);
  }
  async *read(): AsyncIterable<Uint8Array> {
    yield* this.chunks;
  }
  async discard(): Promise<void> {
    this.isDiscarded = true;
  }
}

const LIMITS = { maxBytes: 10_000_000, memoryBytes: 1000 };

async function encoded(form: FormData): Promise<{ bytes: Uint8Array; type: string }> {
  const response = new Response(form);
  return { bytes: new Uint8Array(await response.arrayBuffer()), type: response.headers.get("content-type") ?? "" };
}

async function* cutAt(bytes: Uint8Array, cuts: readonly number[]): AsyncIterable<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts].sort((left, right) => left - right)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
  yield bytes.subarray(from);
}

async function readWhole(form: FormData, cuts: readonly number[] = [], spools: CountedSpool[] = [], limits = LIMITS) {
  const { bytes, type } = await encoded(form);
  return readForm(cutAt(bytes, cuts), type, limits, () => {
    const spool = new CountedSpool();
    spools.push(spool);
    return spool;
  });
}

async function taken(form: FormData, cuts: readonly number[] = [], spools: CountedSpool[] = []): Promise<Form> {
  const read = await readWhole(form, cuts, spools);
  if (isDenial(read)) throw new Error(read.detail);
  return read;
}

function fileOf(size: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: size }, (_, index) => (index * 7) % 256);
}

/** What a server makes of the form we write. */
async function received(form: Form, patches: Readonly<Record<string, string>> = {}): Promise<FormData> {
  const written = writeForm(form, patches, "spillway-boundary-1");
  const chunks: Uint8Array[] = [];
  for await (const chunk of written.chunks()) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  expect(bytes.length).toBe(written.contentLength);
  return new Response(bytes, { headers: { "content-type": written.contentType } }).formData();
}

/** PCM at 16 kHz, one channel, 16 bits: 32,000 bytes a second. */
function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const data = seconds * 32_000;
  const view = new DataView(new ArrayBuffer(44 + data));
  const text = (at: number, tag: string) =>
    [...tag].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + data, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 16_000, true);
  // A stated byte rate that lies: decoders do not obey it.
  view.setUint32(28, 1_000_000, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, data, true);
  return new Uint8Array(view.buffer);
}

function transcription(fields: Record<string, string>, file = fileOf(100), name = "speech.mp3"): FormData {
  const form = new FormData();
  form.append("file", new Blob([file], { type: "audio/mpeg" }), name);
  for (const [key, value] of Object.entries(fields)) form.append(key, value);
  return form;
}

function parse(route: string, form: Form) {
  const reader = routeAt(route, "")?.parseForm;
  if (!reader) throw new Error(`${route} takes no form`);
  return reader(form);
}

describe("a form", () => {
  it("arrives upstream with the same fields and file bytes, at any chunk boundaries", async () => {
    const form = transcription({ model: "whisper-1", prompt: "名字 \r\n--x" }, fileOf(5000), '会议 "1".mp3');
    const { bytes } = await encoded(form);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
        const sent = await received(await taken(form, cuts));
        const file = sent.get("file") as File;
        expect(Buffer.from(await file.arrayBuffer()).equals(fileOf(5000))).toBe(true);
        expect(file.name).toBe('会议 "1".mp3');
        expect(file.type).toBe("audio/mpeg");
        expect([sent.get("model"), sent.get("prompt")]).toEqual(["whisper-1", "名字 \r\n--x"]);
      }),
      { numRuns: 30 },
    );
  });

  it("keeps small files in memory, spools large ones, can be read twice, and frees what it spooled", async () => {
    const spools: CountedSpool[] = [];
    await taken(transcription({ model: "m" }, fileOf(1000)), [], spools);
    expect(spools).toHaveLength(0);
    const form = await taken(transcription({ model: "m" }, fileOf(300_000)), [], spools);
    expect(spools).toHaveLength(1);
    for (const _attempt of [1, 2]) {
      const file = (await received(form)).get("file") as File;
      expect(Buffer.from(await file.arrayBuffer()).equals(fileOf(300_000))).toBe(true);
    }
    await form.discard();
    expect(spools[0]?.isDiscarded).toBe(true);
  });

  it("goes upstream with the patched model, wherever it stands", async () => {
    const form = await taken(transcription({ model: "asked", language: "zh" }));
    const request = parse("audio/transcriptions", form);
    if (isDenial(request)) throw new Error(request.detail);
    const facts = { upstreamModel: "served", writtenCap: null, providerKind: "openai" };
    const sent = await received(form, formPatches(request, facts));
    expect([sent.getAll("model"), sent.get("language")]).toEqual([["served"], "zh"]);
  });

  it("cannot be made to end a header early by the names of its parts", async () => {
    const evil: FormPart = { kind: "field", name: 'a"\r\nX: 1\r\n\r\n', value: "v" };
    const sent = await received({ parts: [evil], discard: async () => undefined });
    expect([...sent.keys()]).toHaveLength(1);
    expect([...sent.values()]).toEqual(["v"]);
  });

  it("that is cut, too large, too many or no form is refused, and nothing of it stays spooled", async () => {
    const { bytes, type } = await encoded(transcription({ model: "m" }, fileOf(50_000)));
    const spools: CountedSpool[] = [];
    const open = () => {
      const spool = new CountedSpool();
      spools.push(spool);
      return spool;
    };
    const cut = await readForm(cutAt(bytes.subarray(0, 40_000), []), type, LIMITS, open);
    expect(cut).toMatchObject({ code: "invalid_request" });
    const large = await readForm(cutAt(bytes, [45_000]), type, { ...LIMITS, maxBytes: 49_000 }, open);
    expect(large).toMatchObject({ code: "request_too_large" });
    expect(spools.map((spool) => spool.isDiscarded)).toEqual([true, true]);
    expect(await readForm(cutAt(bytes, []), "application/json", LIMITS, open)).toMatchObject({
      code: "invalid_request",
    });
    const many = new FormData();
    for (let index = 0; index < 150; index += 1) many.append(`f${index}`, "x");
    expect(await readWhole(many)).toMatchObject({ detail: "the form has too many parts" });
    const long = new FormData();
    long.append("prompt", "x".repeat(1024 * 1024 + 1));
    expect(await readWhole(long)).toMatchObject({ detail: "a form field is too long" });
  });
});

describe("a spool that fails, or a client that leaves", () => {
  it("is thrown on as it is, at once, and is not the caller's mistake", async () => {
    class FullSpool extends CountedSpool {
      override async write(): Promise<void> {
        throw new Error("disk full");
      }
    }
    const { bytes, type } = await encoded(transcription({ model: "m" }, fileOf(500_000)));
    await expect(readForm(cutAt(bytes, [200_000, 400_000]), type, LIMITS, () => new FullSpool())).rejects.toThrow(
      "disk full",
    );
    const spools: CountedSpool[] = [];
    async function* leaving() {
      yield bytes.subarray(0, 100_000);
      throw new Error("client left");
    }
    const open = () => {
      const spool = new CountedSpool();
      spools.push(spool);
      return spool;
    };
    await expect(readForm(leaving(), type, LIMITS, open)).rejects.toThrow("client left");
    expect(spools.map((spool) => spool.isDiscarded)).toEqual([true]);
  });
});

describe("the routes that take forms", () => {
  it("bound the length of a recording by its header, or by its bytes", () => {
    const whole = wav(10);
    expect(audioSecondsBound({ bytes: whole.length, head: whole.subarray(0, 4096) })).toBe(11);
    expect(audioSecondsBound({ bytes: 50_000, head: fileOf(100) })).toBe(100);
    // A header without channels would divide by nothing.
    const broken = wav(1);
    broken[22] = 0;
    expect(audioSecondsBound({ bytes: 50_000, head: broken })).toBe(100);
  });

  it("read a transcription whose fields come after its file", async () => {
    const form = await taken(transcription({ model: "gpt-4o-transcribe", stream: "true" }, wav(60), "a.wav"));
    const request = parse("audio/transcriptions", form);
    expect(request).toMatchObject({ model: "gpt-4o-transcribe", isStream: true, extras: { audioSeconds: 61 } });
  });

  it("read edits of several pictures", async () => {
    const form = new FormData();
    for (const name of ["image[]", "image[]", "mask"]) form.append(name, new Blob([fileOf(10)]), "a.png");
    for (const [name, value] of Object.entries({ model: "gpt-image-1", prompt: "p", n: "3", quality: "medium" }))
      form.append(name, value);
    expect(parse("images/edits", await taken(form))).toMatchObject({ outputCap: 1584, choices: 3 });
  });

  it("take files for a purpose", async () => {
    expect(parse("files", await taken(transcription({ purpose: "batch" })))).toMatchObject({ kind: "file", model: "" });
    expect(parse("files", await taken(transcription({})))).toMatchObject({ param: "purpose" });
  });

  it.each<[string, (form: FormData) => void, string]>([
    ["twice", (form) => form.append("model", "cheap"), "model"],
    ["in brackets", (form) => form.append("model[]", "cheap"), "model"],
    ["in capitals", (form) => form.append("Model", "cheap"), "model"],
    ["as a file", (form) => form.append("response_format", new Blob(["x"]), "x"), "response_format"],
    ["as no flag", (form) => form.append("stream", "yes"), "stream"],
  ])("refuse a read field %s", async (_how, spoil, param) => {
    const form = transcription({ model: "m" });
    spoil(form);
    expect(parse("audio/transcriptions", await taken(form))).toMatchObject({ code: "invalid_request", param });
  });

  it.each(["0", "11", "1e1", "2.0", "-1", "0x2"])("refuse n=%s", async (n) => {
    const form = new FormData();
    form.append("image", new Blob([fileOf(10)]), "a.png");
    form.append("model", "m");
    form.append("n", n);
    expect(parse("images/edits", await taken(form))).toMatchObject({ param: "n" });
  });
});
