/**
 * A spool in a temporary file: for the files of forms, which are too large for memory and gone with their call. The file has no name
 * once it is open, so that it ends with its process, however that ends.
 */
import type { FileHandle } from "node:fs/promises";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Spool } from "@/lib/gateway/wire/routes/form";

async function openNameless(): Promise<FileHandle> {
  // A folder of its own that nobody else may read, for the moment in which there is a name: what is uploaded is the caller's.
  const folder = await mkdtemp(join(tmpdir(), "spillway-form-"));
  try {
    return await open(join(folder, "file"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class TemporarySpool implements Spool {
  private opened: Promise<FileHandle> | undefined;

  async write(chunk: Uint8Array): Promise<void> {
    const file = await (this.opened ??= openNameless());
    await file.appendFile(chunk);
  }

  async *read(): AsyncIterable<Uint8Array> {
    if (!this.opened) return;
    const file = await this.opened;
    for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) yield chunk as Uint8Array;
  }

  async discard(): Promise<void> {
    const file = await this.opened?.catch(() => undefined);
    this.opened = undefined;
    await file?.close();
  }
}

export function openTemporarySpool(): Spool {
  return new TemporarySpool();
}
