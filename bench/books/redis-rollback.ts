/**
 * Kills Redis and brings it back as it was about a second ago, which is what a crash of its machine (append-only file
 * flushed once a second) or a failover to a replica that lagged looks like to everybody else.
 *
 * The append-only file only ever grows by whole event-loop writes, so its length at a moment is a copy of that moment:
 * lengths are noted four times a second, and after the kill the file is cut to one of them. A torn tail, should a note
 * fall into the middle of a write, is Redis' own business (`aof-load-truncated`, on by default).
 */
import { existsSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { HotConnection } from "@/lib/redis/client";
import type { RunningRedis } from "@/lib/services/redis";
import { startRedis } from "@/lib/services/redis";

interface Mark {
  readonly atMs: number;
  readonly file: string;
  readonly bytes: number;
}

const MARK_EVERY_MS = 250;
const MARKS_KEPT = 40;

export class AppendOnlyMarks {
  private readonly marks: Mark[] = [];
  private readonly timer: NodeJS.Timeout;
  private readonly folder: string;

  constructor(dataDir: string) {
    this.folder = join(dataDir, "appendonlydir");
    this.timer = setInterval(() => this.note(), MARK_EVERY_MS);
    this.note();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /**
   * Cuts the file of a server that was killed at `killedAtMs` (performance clock) to the newest mark that was at least `ageMs`
   * old then; says what was lost.
   */
  cutBack(killedAtMs: number, ageMs: number): { readonly ageMs: number; readonly lostBytes: number } {
    const file = this.newestFile();
    const mark = this.marks.findLast((one) => one.file === file && killedAtMs - one.atMs >= ageMs);
    if (mark === undefined) throw new Error("no mark of the append-only file is old enough");
    const bytes = statSync(join(this.folder, file)).size;
    truncateSync(join(this.folder, file), mark.bytes);
    this.marks.length = 0;
    return { ageMs: Math.round(killedAtMs - mark.atMs), lostBytes: bytes - mark.bytes };
  }

  private newestFile(): string {
    const numberOf = (name: string): number => Number(/\.(\d+)\.incr\.aof$/u.exec(name)?.[1] ?? "-1");
    const [newest] = readdirSync(this.folder)
      .filter((name) => numberOf(name) >= 0)
      .sort((a, b) => numberOf(b) - numberOf(a));
    if (newest === undefined) throw new Error("Redis keeps no append-only file");
    return newest;
  }

  private note(): void {
    // Gone where a server is about to be started with nothing.
    if (!existsSync(this.folder)) return;
    const file = this.newestFile();
    this.marks.push({ atMs: performance.now(), file, bytes: statSync(join(this.folder, file)).size });
    if (this.marks.length > MARKS_KEPT) this.marks.shift();
  }
}

/** A rewrite would replace the file under the marks. */
export async function forbidRewrites(store: HotConnection): Promise<void> {
  await store.redis.config("SET", "auto-aof-rewrite-percentage", "0");
}

/** Starts the server again on the port and data it had. */
export function restartRedis(dataDir: string, redisUrl: string): Promise<RunningRedis> {
  return startRedis({ dataDir, port: Number(new URL(redisUrl).port), appendonly: true });
}
