/** A spool in a temporary file: for the files of forms, which are too large for memory and gone with their call. */
import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Spool } from "@/lib/gateway/wire/routes/form";

class TemporarySpool implements Spool {
  private opened: Promise<{ readonly folder: string; readonly path: string; readonly file: FileHandle }> | undefined;

  private async open() {
    // A folder of its own that nobody else may read: what is uploaded is the caller's.
    const folder = await mkdtemp(join(tmpdir(), "spillway-form-"));
    const path = join(folder, "file");
    return { folder, path, file: await open(path, "wx", 0o600) };
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { file } = await (this.opened ??= this.open());
    await file.appendFile(chunk);
  }

  async *read(): AsyncIterable<Uint8Array> {
    if (!this.opened) return;
    const { path } = await this.opened;
    for await (const chunk of createReadStream(path)) yield chunk as Uint8Array;
  }

  async discard(): Promise<void> {
    const opened = await this.opened?.catch(() => undefined);
    this.opened = undefined;
    if (!opened) return;
    await opened.file.close();
    await rm(opened.folder, { recursive: true, force: true });
  }
}

export function openTemporarySpool(): Spool {
  return new TemporarySpool();
}
