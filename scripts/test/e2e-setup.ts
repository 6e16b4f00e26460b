// Playwright's global setup: the whole product, built, on throw-away data. Its end is the end of the Playwright process.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import { startStack, StopList } from "../stack/stack";

const inherited = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "NODE_OPTIONS"];

export default async function setup(): Promise<() => Promise<void>> {
  const root = join(import.meta.dirname, "..", "..");
  const path = throwAwayFolder("spillway-e2e");
  const data = { path, logs: join(path, "logs") };
  mkdirSync(data.logs);
  const stops = new StopList();
  try {
    const stack = await startStack({
      ...{ root, data, stops, durable: false, say: console.log },
      host: "127.0.0.1",
      port: Number(process.env["E2E_PORT"]),
      environment: {
        // A clean environment: a developer's DATABASE_URL or provider keys must never reach a test.
        ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])),
        // The secrets of the factories, so that keys and accounts which a story makes in the database are good here.
        SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
        SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      },
    });
    process.env["E2E_BASE_URL"] = stack.url;
    process.env["E2E_DATABASE_URL"] = stack.env["DATABASE_URL"];
    process.env["E2E_REDIS_URL"] = stack.env["REDIS_URL"];
    process.env["E2E_SANDBOX_URL"] = stack.env["SANDBOX_URL"];
    process.env["E2E_FIRST_RUN"] = JSON.stringify(stack.firstRun);
  } catch (error) {
    await stops.run();
    throw error;
  }
  return () => stops.run();
}
