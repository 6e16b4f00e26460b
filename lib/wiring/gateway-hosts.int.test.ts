/** The one contract on the handler in memory and on the lean host. The Next mount runs it in gateway-next.int.test.ts. */
import { gatewayContract } from "@/lib/testing/gateway-contract/gateway.contract";
import type { GatewayHost } from "@/lib/testing/gateway-contract/host";
import { startTestBench } from "@/lib/testing/running-gateway";
import { testDatabaseUrl, testRedisUrl } from "@/lib/testing/services";
import { startLeanHost } from "@/workers/host/lean-host";

gatewayContract("handler in memory", async (): Promise<GatewayHost> => {
  const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const gateway = await bench.gateway();
  return {
    bench,
    baseURL: "http://gateway.test/api/v1",
    fetch: async (input, init) => gateway.handle(new Request(input, init), { waitUntil: () => undefined }),
    close: () => bench.close(),
  };
});

gatewayContract("lean host", async (): Promise<GatewayHost> => {
  const bench = await startTestBench(await testDatabaseUrl(), testRedisUrl());
  const host = await startLeanHost({ gateway: await bench.gateway(), host: "127.0.0.1", port: 0 });
  return {
    bench,
    baseURL: `${host.url}/api/v1`,
    fetch,
    close: async () => {
      await host.close();
      await bench.close();
    },
  };
});
