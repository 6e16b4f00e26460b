/** The gateway alone, for throughput: the lean host without Next. Run several, or one per core with GATEWAY_PROCESSES. */
import cluster from "node:cluster";
import { gatewayEnv } from "@/lib/config/env";
import { getGateway } from "@/lib/wiring/gateway";
import { startLeanHost } from "./host/lean-host";
import { runUntilSignal, startFailure } from "./host/run-until-signal";

async function serve(): Promise<void> {
  const env = gatewayEnv();
  try {
    const host = await startLeanHost({ gateway: getGateway(), host: env.SPILLWAY_HOST, port: env.SPILLWAY_PORT });
    process.stdout.write(`gateway listening on ${host.url}\n`);
    runUntilSignal(() => host.close());
  } catch (error) {
    process.stderr.write(`${startFailure(error, env.SPILLWAY_HOST, env.SPILLWAY_PORT)}\n`);
    process.exit(1);
  }
}

function supervise(processes: number): void {
  let isClosing = false;
  for (let index = 0; index < processes; index += 1) cluster.fork();
  cluster.on("exit", (worker) => {
    // A process that fell is replaced; one that could not start at all is not started for ever.
    if (!isClosing && !worker.exitedAfterDisconnect && worker.process.exitCode !== 1) cluster.fork();
    else if (Object.keys(cluster.workers ?? {}).length === 0) process.exit(isClosing ? 0 : 1);
  });
  runUntilSignal(async () => {
    isClosing = true;
    const running = Object.values(cluster.workers ?? {}).flatMap((worker) => (worker ? [worker] : []));
    await Promise.all(
      running.map(
        (worker) =>
          new Promise<void>((resolve) => {
            worker.once("exit", () => {
              resolve();
            });
            worker.process.kill("SIGTERM");
          }),
      ),
    );
  });
}

const { GATEWAY_PROCESSES } = gatewayEnv();
if (cluster.isPrimary && GATEWAY_PROCESSES > 1) supervise(GATEWAY_PROCESSES);
else void serve();
