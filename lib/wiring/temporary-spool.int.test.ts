import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { openTemporarySpool } from "./temporary-spool";

async function read(spool: ReturnType<typeof openTemporarySpool>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of spool.read()) parts.push(part);
  return Buffer.concat(parts).toString();
}

it("gives back what was written, each time from the beginning, and leaves nothing", async () => {
  const spool = openTemporarySpool();
  await spool.write(Buffer.from("one "));
  await spool.write(Buffer.from("two"));
  expect([await read(spool), await read(spool)]).toEqual(["one two", "one two"]);
  const before = (await readdir(tmpdir())).filter((name) => name.startsWith("spillway-form-")).length;
  await spool.discard();
  const after = (await readdir(tmpdir())).filter((name) => name.startsWith("spillway-form-")).length;
  expect(after).toBeLessThan(before);
  // Discarding twice, or what was never written, is nothing.
  await spool.discard();
  await openTemporarySpool().discard();
});
