/** The default server: the lean host answers the gateway's paths, Next answers everything else on the same port. */
import next from "next";
import { webEnv } from "@/lib/config/env";
import { getGateway } from "@/lib/wiring/gateway";
import { startLeanHost } from "./host/lean-host";
import { runUntilSignal, startFailure } from "./host/run-until-signal";

async function main(): Promise<void> {
  const env = webEnv();
  const app = next({
    dev: env.NODE_ENV === "development",
    dir: process.cwd(),
    hostname: env.SPILLWAY_HOST,
    port: env.SPILLWAY_PORT,
  });
  await app.prepare();
  const handle = app.getRequestHandler();
  const upgrade = app.getUpgradeHandler();
  try {
    const host = await startLeanHost({
      gateway: getGateway(),
      host: env.SPILLWAY_HOST,
      port: env.SPILLWAY_PORT,
      fallback: { request: (request, response) => void handle(request, response), upgrade },
    });
    process.stdout.write(`web listening on ${host.url}\n`);
    runUntilSignal(async () => {
      await host.close();
      await app.close();
    });
  } catch (error) {
    process.stderr.write(`${startFailure(error, env.SPILLWAY_HOST, env.SPILLWAY_PORT)}\n`);
    process.exit(1);
  }
}

void main();
