/**
 * The sandbox as a process: `--port`, `--host`, `--allow-reset`, `--record-requests`, `--currency`, or SANDBOX_PORT,
 * SANDBOX_HOST, SANDBOX_ALLOW_RESET=1, SANDBOX_RECORD_REQUESTS=1, SANDBOX_CURRENCY. Prints one line once it listens;
 * ends on SIGTERM and SIGINT.
 */
import { parseArgs } from "node:util";
import { startSandbox } from "./sandbox/server";

// The sandbox shares no code with Spillway, not even its reader of the environment.
// eslint-disable-next-line no-restricted-properties
const environment = process.env;
const { values } = parseArgs({
  options: {
    port: { type: "string", default: environment.SANDBOX_PORT ?? "0" },
    host: { type: "string", default: environment.SANDBOX_HOST ?? "127.0.0.1" },
    "allow-reset": { type: "boolean", default: environment.SANDBOX_ALLOW_RESET === "1" },
    currency: { type: "string", default: environment.SANDBOX_CURRENCY ?? "USD" },
    "record-requests": { type: "boolean", default: environment.SANDBOX_RECORD_REQUESTS === "1" },
  },
});

const sandbox = await startSandbox({
  port: Number(values.port),
  host: values.host,
  currency: values.currency,
  allowReset: values["allow-reset"],
  recordRequests: values["record-requests"],
});
console.log(`sandbox listening on ${sandbox.url}`);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void sandbox.close());
