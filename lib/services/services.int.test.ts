import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { startChild } from "./child";
import { freePort, portIsFree } from "./free-port";
import { startPostgres } from "./postgres";
import { commandLineOf, isAlive, stopLeftover } from "./process-table";
import { startRedis } from "./redis";
import { throwAwayFolder } from "./throw-away";

describe("services", () => {
  it("keep Postgres data over a restart, in a folder whose name has a space", async () => {
    const dataDir = join(throwAwayFolder("postgres with space"), "data folder");
    const write = await startPostgres({ dataDir });
    const first = new pg.Client({ connectionString: write.url });
    await first.connect();
    await first.query("create table kept as select 42 as answer");
    await first.end();
    await write.stop();
    const read = await startPostgres({ dataDir });
    const second = new pg.Client({ connectionString: read.url });
    await second.connect();
    const { rows } = await second.query<{ answer: number }>("select answer from kept");
    await second.end();
    await read.stop();
    expect(rows).toEqual([{ answer: 42 }]);
    expect(statSync(join(dataDir, "password")).mode & 0o777).toBe(0o600);
  });

  it("refuse a Redis caller without the password, and keep what was written over a restart", async () => {
    const dataDir = throwAwayFolder("redis with space");
    const write = await startRedis({ dataDir });
    const stranger = new Redis(`redis://127.0.0.1:${write.port}`, { retryStrategy: () => null });
    await expect(stranger.get("kept")).rejects.toThrow(/NOAUTH/);
    stranger.disconnect();
    const first = new Redis(write.url);
    await first.set("kept", "42");
    await first.quit();
    await write.stop();
    const read = await startRedis({ dataDir });
    const second = new Redis(read.url);
    expect(await second.get("kept")).toBe("42");
    await second.quit();
    await read.stop();
  });

  it("stop the server of a run that was killed, and only that", async () => {
    const dataDir = throwAwayFolder("redis-left-over");
    const leftBehind = await startRedis({ dataDir });
    expect(await stopLeftover(leftBehind.child.pid, "some other program", "SIGTERM")).toBe(false);
    const next = await startRedis({ dataDir });
    expect(isAlive(leftBehind.child.pid)).toBe(false);
    await next.stop();
  });

  it("leave nothing behind when the process that started them is killed", async () => {
    const folder = throwAwayFolder("leash");
    const script = [
      `import { startChild } from ${JSON.stringify(join(import.meta.dirname, "child.ts"))};`,
      `import { removeAtEnd } from ${JSON.stringify(join(import.meta.dirname, "leash.ts"))};`,
      `const child = startChild({ name: "sleeper", command: "sleep", args: ["600"], logFile: ${JSON.stringify(join(folder, "log"))} });`,
      `removeAtEnd(${JSON.stringify(folder)});`,
      "console.log(child.pid); setInterval(() => undefined, 1000);",
    ].join("\n");
    const parent = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script]);
    const [chunk] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(chunk.toString());
    expect(commandLineOf(pid)).toContain("sleep");
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), { timeout: 10_000 });
  });

  it("end a process that ignores the polite signal", async () => {
    const logFile = join(throwAwayFolder("stubborn"), "log");
    const child = startChild({
      name: "stubborn",
      command: process.execPath,
      args: ["-e", "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)"],
      logFile,
      stopTimeoutMs: 300,
    });
    await vi.waitFor(() => expect(statSync(logFile).size).toBeGreaterThan(0));
    await child.stop();
    expect(await child.exited).toBe("signal SIGKILL");
  });

  it("find a port that is free", async () => {
    expect(await portIsFree(await freePort())).toBe(true);
  });
});
