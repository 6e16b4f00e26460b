/** The one contract on the Next route handler, in a production build of the app. */
import { join } from "node:path";
import { ensureBuilt } from "@/scripts/build/build";
import { startChild } from "@/lib/services/child";
import { freePort } from "@/lib/services/free-port";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { TEST_MASTER_KEY, TEST_PEPPER } from "@/lib/testing/factories";
import { gatewayContract } from "@/lib/testing/gateway-contract/gateway.contract";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";

const ROOT = join(import.meta.dirname, "../..");

async function answers(url: string): Promise<void> {
  const untilMs = performance.now() + 60_000;
  for (;;) {
    const isUp = await fetch(url).then(
      (response) => response.status === 401,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > untilMs) throw new Error(`nothing answers at ${url}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

gatewayContract("Next route handler", async (): Promise<GatewayHost> => {
  const logs = throwAwayFolder("spillway-next");
  await ensureBuilt({ root: ROOT, logFolder: logs });
  const databaseUrl = await testDatabaseUrl();
  const bench = await startTestBench(databaseUrl, testRedisUrl());
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const child = startChild({
    name: "next",
    command: process.execPath,
    args: [join(ROOT, "node_modules/next/dist/bin/next"), "start", "-p", String(port), "-H", "127.0.0.1"],
    logFile: join(logs, "next.log"),
    cwd: ROOT,
    env: {
      NODE_ENV: "production",
      DATABASE_URL: databaseUrl,
      REDIS_URL: testRedisUrl(),
      SPILLWAY_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
      SPILLWAY_KEY_PEPPER: TEST_PEPPER.toString("base64"),
      NEXTAUTH_SECRET: "x".repeat(32),
      NEXTAUTH_URL: url,
      LOG_LEVEL: "silent",
      SPILLWAY_OUTBOUND_ALLOW: "127.0.0.1",
    },
  });
  await answers(`${url}/api/v1/models`);
  return {
    bench,
    baseURL: `${url}/api/v1`,
    fetch,
    close: async () => {
      await child.stop();
      await bench.close();
    },
  };
});
