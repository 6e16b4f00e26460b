/** The worker process: settlement, sweeps, recovery, reconcile, alerts. SIGTERM ends it in under ten seconds. */
import { hostname } from "node:os";
import { workerEnv } from "@/lib/config/env";
import { startWorker } from "./worker";

const STOP_TIMEOUT_MS = 9_000;

async function main(): Promise<void> {
  const worker = await startWorker(workerEnv(), `${hostname()}-${process.pid}-${Date.now().toString(36)}`);
  const { log } = worker.context.services.deps;
  log.info({ port: worker.port }, "worker ready");
  let isStopping = false;
  const stop = (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, "worker stopping");
    // Entries in hand are either booked or stay in the stream: leaving in mid-work loses nothing.
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
    worker.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : "the worker could not start");
  process.exit(1);
});
