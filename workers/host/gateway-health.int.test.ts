import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { beginPublication, endPublication } from "@/lib/redis/publication";
import { startTestBench } from "@/lib/testing/running-gateway";
import { startPrivateRedis, testDatabaseUrl } from "@/lib/testing/services";
import { startLeanHost } from "./lean-host";

it("a gateway is ready while the store answers and has every organisation, and says what is missing", async () => {
  const server = await startPrivateRedis();
  const bench = await startTestBench(await testDatabaseUrl(), server.url);
  const alone = await startLeanHost({ gateway: await bench.gateway(), host: "127.0.0.1", port: 0 });
  const fallback = { request: (_request: unknown, response: { end(text: string): void }) => response.end("next") };
  const web = await startLeanHost({ gateway: await bench.gateway(), host: "127.0.0.1", port: 0, fallback });
  const health = async (url: string, path = "/api/health") => {
    const answer = await fetch(`${url}${path}`);
    return [answer.status, ((await answer.json()) as { checks: object }).checks];
  };
  try {
    const well = [200, { redis: "up", snapshot: "published" }];
    expect(await health(alone.url)).toEqual(well);
    expect(await health(alone.url, "/api/health/gateway?of=all")).toEqual(well);
    expect(await health(web.url, "/api/health/gateway")).toEqual(well);
    expect(await (await fetch(`${web.url}/api/health`)).text()).toBe("next");
    await bench.store.redis.flushall();
    expect(await health(alone.url)).toEqual([503, { redis: "up", snapshot: "missing" }]);
    const { redis } = bench.store;
    await endPublication(redis, await beginPublication(redis, randomUUID()));
    expect(await health(alone.url)).toEqual(well);
    await server.stop();
    expect(await health(alone.url)).toEqual([503, { redis: "down", snapshot: "unknown" }]);
  } finally {
    await alone.close(100);
    await web.close(100);
    await bench.close();
    await server.stop();
  }
}, 30_000);
