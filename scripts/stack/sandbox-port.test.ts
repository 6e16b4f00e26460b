import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chooseSandboxPort } from "./sandbox-port";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "port-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the port of the stand-in provider", () => {
  it("is the same at each start, because organisations have written it down", async () => {
    const first = await chooseSandboxPort(folder, {});
    expect(first.isNew).toBe(true);
    expect(await chooseSandboxPort(folder, {})).toEqual({ port: first.port, isNew: false });
  });

  it("is another one, and said to be, where somebody else listens there now or the file is damaged", async () => {
    const { port } = await chooseSandboxPort(folder, {});
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(port, "127.0.0.1", resolve));
    const moved = await chooseSandboxPort(folder, {});
    squatter.close();
    expect(moved).toMatchObject({ isNew: true });
    expect(moved.port).not.toBe(port);
    writeFileSync(join(folder, "sandbox-port"), "?");
    expect(await chooseSandboxPort(folder, {})).toMatchObject({ isNew: true });
  });

  it("is the one that the environment names", async () => {
    expect(await chooseSandboxPort(folder, { SANDBOX_PORT: "4010" })).toEqual({ port: 4010, isNew: true });
    expect(await chooseSandboxPort(folder, { SANDBOX_PORT: "4010" })).toEqual({ port: 4010, isNew: false });
  });
});
