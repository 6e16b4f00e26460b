import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openTemporarySpool } from "./temporary-spool";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-test-"));
  vi.stubEnv("TMPDIR", folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function read(spool: ReturnType<typeof openTemporarySpool>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of spool.read()) parts.push(part);
  return Buffer.concat(parts);
}

it("gives back what was written, each time from the beginning, and by several readers at once", async () => {
  const spool = openTemporarySpool();
  const written = randomBytes(300_000);
  await spool.write(written.subarray(0, 100_000));
  expect((await read(spool)).equals(written.subarray(0, 100_000))).toBe(true);
  await spool.write(written.subarray(100_000));
  const all = await Promise.all([read(spool), read(spool), read(spool)]);
  expect(all.every((one) => one.equals(written))).toBe(true);
  await spool.discard();
});

it("leaves nothing behind, whatever becomes of its process: the file has no name", async () => {
  const spool = openTemporarySpool();
  await spool.write(Buffer.from("one"));
  expect(await readdir(folder)).toEqual([]);
  expect((await read(spool)).toString()).toBe("one");
  await spool.discard();
  // Discarding twice, or what was never written, is nothing.
  await spool.discard();
  await openTemporarySpool().discard();
});
