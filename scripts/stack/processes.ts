// What the product consists of when it runs on one machine, and the environment each process gets.
import { join } from "node:path";
import type { ChildOptions } from "@/lib/services/child";
import { nodeArgsOf } from "@/lib/services/node-args";
import { bundleOf } from "../build/build";
import type { Secrets } from "./secrets";

/** Variables of a process; `NodeJS.ProcessEnv` demands a NODE_ENV that a person's shell need not have. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Addresses {
  readonly host: string;
  readonly port: number;
  readonly workerPort: number;
  readonly sandboxPort: number;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** Where a browser on this machine reaches something that listens on `host`. */
export function localUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

export function environmentFor(
  addresses: Addresses,
  secrets: Secrets,
  dataFolder: string,
  given: Environment = process.env,
): NodeJS.ProcessEnv {
  const url = localUrl(addresses.host, addresses.port);
  return {
    ...given,
    ...secrets,
    NODE_ENV: "production",
    NEXT_TELEMETRY_DISABLED: "1",
    DATABASE_URL: addresses.databaseUrl,
    REDIS_URL: addresses.redisUrl,
    SPILLWAY_HOST: addresses.host,
    SPILLWAY_PORT: String(addresses.port),
    SPILLWAY_DATA_DIR: dataFolder,
    SPILLWAY_PUBLIC_URL: given["SPILLWAY_PUBLIC_URL"] ?? url,
    NEXTAUTH_URL: given["NEXTAUTH_URL"] ?? url,
    SANDBOX_HOST: "127.0.0.1",
    SANDBOX_PORT: String(addresses.sandboxPort),
    SANDBOX_URL: given["SANDBOX_URL"] ?? `http://127.0.0.1:${addresses.sandboxPort}`,
    WORKER_HOST: "127.0.0.1",
    WORKER_PORT: String(addresses.workerPort),
  };
}

export interface ProcessSetting {
  readonly root: string;
  readonly logs: string;
  readonly env: NodeJS.ProcessEnv;
  /** Run the TypeScript itself, and Next in development mode. */
  readonly dev: boolean;
}

export function processOptions(name: string, entry: string, setting: ProcessSetting): ChildOptions {
  const program = setting.dev ? ["--import", "tsx", entry] : ["--enable-source-maps", bundleOf(entry)];
  return {
    name,
    command: process.execPath,
    args: [...nodeArgsOf(entry), ...program],
    cwd: setting.root,
    env: setting.dev ? { ...setting.env, NODE_ENV: "development" } : setting.env,
    logFile: join(setting.logs, `${name.replaceAll(" ", "-")}.log`),
    // Longer than the 25 s that the web process gives running calls to end and be booked.
    stopTimeoutMs: 40_000,
  };
}
