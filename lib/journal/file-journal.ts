/**
 * Small texts by id that must outlive this process: an append-only file, removed once nothing in it is needed any more. A file
 * whose process gives no sign of life is taken over by another process of the same folder.
 *
 * A line is handed to the kernel before `append` returns, so it survives the end of the process; it is forced to the disk within
 * `FLUSH_MS`, so the end of the machine may take the last of them.
 */
import { closeSync, fdatasync, ftruncateSync, mkdirSync, openSync, rmSync, utimesSync, writeSync } from "node:fs";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JournalLine } from "./lines";
import { lineOf, readLines } from "./lines";

export interface FileJournalOptions {
  readonly folder: string;
  /** Unique to this process, also on other machines that share the folder. */
  readonly owner: string;
  /** The longest the file may become. */
  readonly maxBytes: number;
  /** Monotonic time in ms. */
  readonly elapsedMs: () => number;
  /** How long a file may stand still before its process is taken for dead; its owner touches it once a second. */
  readonly orphanMs?: number;
  /** Told once of each kind of trouble until it is over: a disk that is full, lines that were damaged. */
  readonly onTrouble?: (what: string, error?: unknown) => void;
}

const SUFFIX = ".journal";
const FLUSH_MS = 100;
const ORPHAN_MS = 6_000;

interface OpenFile {
  readonly path: string;
  readonly fd: number;
  bytes: number;
}

interface Kept {
  readonly lines: JournalLine[];
  bytes: number;
}

interface Watched {
  readonly state: string;
  readonly sinceMs: number;
}

export class FileJournal {
  private readonly kept = new Map<string, Kept>();
  private keptBytes = 0;
  private file: OpenFile | undefined;
  private files = 0;
  private flushing: NodeJS.Timeout | undefined;
  private isTroubled = false;
  private lastSignMs = 0;
  private watched = new Map<string, Watched>();

  constructor(private readonly options: FileJournalOptions) {}

  get size(): number {
    return this.kept.size;
  }

  has(id: string): boolean {
    return this.kept.has(id);
  }

  /** Adds a line about `id`. False, and nothing is written, where the disk or the journal's bound has no room for it. */
  append(id: string, text: string): boolean {
    const line = { id, text };
    const buffer = lineOf(line);
    try {
      this.makeRoom(buffer.length);
      this.write(this.openFile(), buffer);
    } catch (error) {
      this.trouble("the journal cannot be written", error);
      // An empty file says nothing and would be taken for one that is in use.
      if (this.kept.size === 0) this.close();
      return false;
    }
    this.isTroubled = false;
    this.keep(line, buffer.length);
    this.flushSoon();
    return true;
  }

  /** What was said of `id` is not needed any more. */
  remove(id: string): void {
    const kept = this.kept.get(id);
    if (!kept) return;
    this.kept.delete(id);
    this.keptBytes -= kept.bytes;
    if (this.kept.size === 0) this.close();
  }

  /** The sign of life; once a second. Where another process took the file over, what is kept is written anew. */
  beat(): void {
    if (!this.file) return;
    // Later than the last, also where the clock was set back.
    this.lastSignMs = Math.max(Date.now(), this.lastSignMs + 1);
    const sign = new Date(this.lastSignMs);
    try {
      utimesSync(this.file.path, sign, sign);
    } catch (error) {
      try {
        this.rewrite();
      } catch {
        this.trouble("the journal was taken over and cannot be written anew", error);
      }
    }
  }

  /**
   * Lines of processes that are gone, in their order. They are in this process's own journal when they are given out, so that they
   * have to be removed like others. Never rejects: what cannot be taken now is looked at again.
   */
  async takeOrphans(): Promise<JournalLine[]> {
    const { folder, owner } = this.options;
    const names = await readdir(folder).catch(() => []);
    const taken: JournalLine[] = [];
    const watched = new Map<string, Watched>();
    for (const name of names) {
      if (!name.endsWith(SUFFIX) || join(folder, name) === this.file?.path) continue;
      const seen = await this.look(name);
      if (!seen) continue;
      if (this.options.elapsedMs() - seen.sinceMs < (this.options.orphanMs ?? ORPHAN_MS)) {
        watched.set(name, seen);
        continue;
      }
      this.files += 1;
      const path = join(folder, `${owner}-${String(this.files)}${SUFFIX}`);
      // Of several processes that find the same file one can rename it.
      const isOurs = await rename(join(folder, name), path).then(
        () => true,
        () => false,
      );
      if (isOurs) taken.push(...(await this.takeOver(path)));
    }
    this.watched = watched;
    return taken;
  }

  /** Closes the file; one in which something is kept stays for whoever comes after. */
  close(): void {
    clearTimeout(this.flushing);
    this.flushing = undefined;
    const { file } = this;
    if (!file) return;
    this.file = undefined;
    if (this.kept.size === 0) discard(file);
    else closeSync(file.fd);
  }

  private keep(line: JournalLine, bytes: number): void {
    const kept = this.kept.get(line.id) ?? { lines: [], bytes: 0 };
    kept.lines.push(line);
    kept.bytes += bytes;
    this.kept.set(line.id, kept);
    this.keptBytes += bytes;
  }

  /** Throws where there is none. */
  private makeRoom(bytes: number): void {
    const { maxBytes } = this.options;
    if ((this.file?.bytes ?? 0) + bytes <= maxBytes) return;
    // Writing it anew is dear: worth it where much of the file is not needed any more.
    if (this.keptBytes + bytes > maxBytes / 2) throw new Error(`the journal has its ${String(maxBytes)} bytes`);
    this.rewrite();
  }

  private openFile(): OpenFile {
    if (this.file) return this.file;
    const { folder, owner } = this.options;
    // Ids of calls and people are nobody else's business.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.files += 1;
    const path = join(folder, `${owner}-${String(this.files)}${SUFFIX}`);
    this.file = { path, fd: openSync(path, "ax", 0o600), bytes: 0 };
    return this.file;
  }

  /** Writes to the kernel at once: a few microseconds, and only while something is wrong. Throws what the disk says. */
  private write(file: OpenFile, buffer: Buffer): void {
    let written = 0;
    try {
      while (written < buffer.length) written += writeSync(file.fd, buffer, written);
    } catch (error) {
      // Half a line would spoil the next one.
      ftruncateSync(file.fd, file.bytes);
      throw error;
    }
    file.bytes += written;
  }

  /** What is kept in a new file, and the old one gone. Throws what the disk says; the old one stays then. */
  private rewrite(): void {
    const old = this.file;
    this.file = undefined;
    try {
      const fresh = this.openFile();
      for (const { lines } of this.kept.values()) for (const line of lines) this.write(fresh, lineOf(line));
    } catch (error) {
      discard(this.file);
      this.file = old;
      throw error;
    }
    discard(old);
  }

  private flushSoon(): void {
    this.flushing ??= setTimeout(() => {
      this.flushing = undefined;
      const { file } = this;
      if (!file) return;
      fdatasync(file.fd, (error) => {
        if (error && this.file === file) this.trouble("the journal cannot be forced to the disk", error);
      });
    }, FLUSH_MS).unref();
  }

  /** How long this process has seen the file standing still; undefined where it is gone. */
  private async look(name: string): Promise<Watched | undefined> {
    const found = await stat(join(this.options.folder, name)).catch(() => undefined);
    if (!found) return undefined;
    const state = `${String(found.mtimeMs)} ${String(found.size)}`;
    const known = this.watched.get(name);
    // Clocks of machines differ, so times of files are compared with themselves only.
    return known?.state === state ? known : { state, sinceMs: this.options.elapsedMs() };
  }

  private async takeOver(path: string): Promise<JournalLine[]> {
    const content = await readFile(path, "utf8").catch(() => undefined);
    if (content === undefined) return [];
    const { lines, damaged } = readLines(content);
    if (damaged > 0) this.options.onTrouble?.(`${String(damaged)} damaged lines of a journal were left out`);
    if (lines.every((line) => this.append(line.id, line.text))) {
      await rm(path, { force: true });
      return lines;
    }
    // Without room for all of it the file stays as it is, and is found again.
    for (const { id } of lines) this.remove(id);
    return [];
  }

  private trouble(what: string, error: unknown): void {
    if (this.isTroubled) return;
    this.isTroubled = true;
    this.options.onTrouble?.(what, error);
  }
}

function discard(file: OpenFile | undefined): void {
  if (!file) return;
  closeSync(file.fd);
  rmSync(file.path, { force: true });
}
