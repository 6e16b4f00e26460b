// npm start: from a fresh checkout to a working product with a sample company, and back again with Ctrl-C.
import { join } from "node:path";
import { reasonOf, ServiceError } from "@/lib/services/service-error";
import { exampleModel } from "./example-model";
import { openDataFolder } from "../stack/data-folder";
import { localUrl } from "../stack/processes";
import { takeRunLock } from "../stack/run-lock";
import type { Stack } from "../stack/stack";
import { startStack, StopList } from "../stack/stack";

export interface StartOptions {
  readonly dev: boolean;
}

export async function start({ dev }: StartOptions): Promise<void> {
  const stops = new StopList();
  stopOnSignals(stops);
  try {
    const root = join(import.meta.dirname, "..", "..");
    const host = setting("SPILLWAY_HOST") ?? "127.0.0.1";
    const port = portSetting();
    const data = openDataFolder(root);
    const release = takeRunLock(data.path, localUrl(host, port));
    stops.add(async () => release());
    const stack = await startStack({ root, data, host, port, dev, stops, say: console.log, begunMs: 0 });
    if (stops.stopping) return;
    const model = stack.firstRun && (await exampleModel(stack.url, stack.firstRun.apiKey));
    if (stops.stopping) return;
    console.log(readyMessage(stack, data.logs, model));
    await stack.lost;
  } catch (error) {
    if (stops.stopping) return;
    await stops.run();
    console.error(sentenceFor(error));
    process.exit(1);
  }
}

function stopOnSignals(stops: StopList): void {
  const stop = (): void => {
    // The second time the person is in earnest; the leash ends whatever is left.
    if (stops.stopping) process.exit(130);
    console.log("\nStopping ...");
    void stops.run().then(() => {
      console.log("Stopped. The data is kept.");
      process.exit(0);
    });
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
}

function setting(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === "" ? undefined : value;
}

function portSetting(): number {
  const given = setting("SPILLWAY_PORT") ?? setting("PORT") ?? "3000";
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ServiceError(`SPILLWAY_PORT is ${given}, which is not a port: use a number from 1 to 65535.`);
}

/** What we know how to say is said in one sentence; anything else is a defect, and its stack helps to mend it. */
function sentenceFor(error: unknown): string {
  if (error instanceof ServiceError) return error.message;
  const stack = setting("SPILLWAY_DEBUG") !== undefined && error instanceof Error ? `\n${error.stack ?? ""}` : "";
  return `Spillway could not start: ${reasonOf(error)} (SPILLWAY_DEBUG=1 shows more).${stack}`;
}

export function readyMessage(
  stack: Pick<Stack, "url" | "firstRun" | "took">,
  logs: string,
  model: string | null = "gpt-4o-mini",
): string {
  const { url, firstRun } = stack;
  const lines = ["", `Spillway is ready (${stack.took}).`, "", `  console   ${url}`];
  if (firstRun === undefined) {
    lines.push("  sign-in   the account given at the first start of this database");
  } else {
    lines.push(`  sign-in   ${firstRun.email}   ${firstRun.password}`);
    if (model !== null)
      lines.push(`  API key   ${firstRun.apiKey}`, "", "  try it:", curlLine(url, firstRun.apiKey, model));
  }
  lines.push("", `  logs in ${logs}; Ctrl-C stops everything and keeps the data.`, "");
  return lines.join("\n");
}

function curlLine(url: string, apiKey: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
  return `  curl ${url}/api/v1/chat/completions -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" -d '${body}'`;
}
